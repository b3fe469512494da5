"""Leviathan et al. 2023, Table 4: improvement by Theorem 8, and the published improvements."""

from __future__ import annotations

from dataclasses import dataclass

from figures.drawing import style
from figures.drawing.table import FigureRows
from figures.published import LeviathanTable4, published
from simulator.choice.walltime import improvement_factor


@dataclass(frozen=True, slots=True)
class SpeedUpRow:
    """One setting: our value by Theorem 8, the paper's expectation and its measurement."""

    task: str
    draft: str
    temperature: int
    gamma: int
    alpha: float
    c: float
    theorem8: float
    published_expected: float
    published_empirical: float


def compute() -> FigureRows[SpeedUpRow]:
    return FigureRows(
        tuple(
            SpeedUpRow(
                row.task, row.draft, row.temperature, row.gamma, row.alpha, row.c,
                float(improvement_factor(row.alpha, row.gamma, row.c)), row.expected, row.empirical,
            )
            for row in published("leviathan-table4", LeviathanTable4)
        )
    )  # fmt: skip


def draw(data: FigureRows[SpeedUpRow]) -> style.Figure:
    """Returns the drawing: one line per setting, with our number and the paper's two."""
    figure, (axes,) = style.canvas(
        "Theorem 8 with the published α and c, and what the paper expected and measured",
        source="Leviathan et al. 2023, Table 4: T5-XXL on one TPU v4; T is the temperature",
        width=9.2,
        height=5.0,
    )
    heights = range(len(data.rows))
    for height, row in zip(heights, data.rows, strict=True):
        values = (row.theorem8, row.published_expected, row.published_empirical)
        span, label = [min(values), max(values)], None if height else "their span"
        axes.plot(span, [height, height], color=style.PALE, linewidth=4, label=label)
    series = (
        ("Theorem 8, ours", "theorem8", "o", style.BLUE, 7.0),
        ("paper, expected", "published_expected", "|", style.INK, 11.0),
        ("paper, measured", "published_empirical", "D", style.VERMILION, 6.0),
    )
    for name, field, mark, colour, size in series:
        factors = [getattr(row, field) for row in data.rows]
        axes.plot(factors, heights, mark, color=colour, markersize=size, label=name, mew=2)
    axes.set_yticks(
        heights,
        [
            f"{row.task} {row.draft}, T = {row.temperature}, γ = {row.gamma}, "
            f"α = {row.alpha:.2f}, c = {row.c:.2f}"
            for row in data.rows
        ],
    )
    axes.invert_yaxis()
    axes.set_xlim(1, 3.8)
    style.name_axes(axes, x="speed-up over standard decoding", y="")
    style.key(axes, anchor=(-0.25, 1.01), columns=4)
    return figure
