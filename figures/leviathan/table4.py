"""Leviathan et al. 2023, Table 4: expected improvement by Theorem 8 beside the published ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.drawing.table import Table, table_of
from simulator.choice.walltime import improvement_factor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# task, draft, temperature, γ, α, c, expected, empirical, as printed.
PUBLISHED = (
    ("EnDe", "T5-small", 0, 7, 0.75, 0.02, 3.2, 3.4),
    ("EnDe", "T5-base", 0, 7, 0.80, 0.04, 3.3, 2.8),
    ("EnDe", "T5-large", 0, 7, 0.82, 0.11, 2.5, 1.7),
    ("EnDe", "T5-small", 1, 7, 0.62, 0.02, 2.3, 2.6),
    ("EnDe", "T5-base", 1, 5, 0.68, 0.04, 2.4, 2.4),
    ("EnDe", "T5-large", 1, 3, 0.71, 0.11, 2.0, 1.4),
    ("CNNDM", "T5-small", 0, 5, 0.65, 0.02, 2.4, 3.1),
    ("CNNDM", "T5-base", 0, 5, 0.73, 0.04, 2.6, 3.0),
    ("CNNDM", "T5-large", 0, 3, 0.74, 0.11, 2.0, 2.2),
    ("CNNDM", "T5-small", 1, 5, 0.53, 0.02, 1.9, 2.3),
    ("CNNDM", "T5-base", 1, 3, 0.55, 0.04, 1.8, 2.2),
    ("CNNDM", "T5-large", 1, 3, 0.56, 0.11, 1.6, 1.7),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One setting: ours by Theorem 8, the paper's expectation and its measurement."""

    task: str
    draft: str
    temperature: int
    gamma: int
    alpha: float
    c: float
    theorem8: float
    published_expected: float
    published_empirical: float


@dataclass(frozen=True, slots=True)
class Table4:
    """All rows."""

    rows: tuple[Row, ...]

    def table(self) -> Table:
        return table_of(self.rows)


def compute() -> Table4:
    """Returns the twelve rows."""
    return Table4(
        tuple(
            Row(
                task=task,
                draft=draft,
                temperature=temperature,
                gamma=gamma,
                alpha=alpha,
                c=c,
                theorem8=float(improvement_factor(alpha, gamma, c)),
                published_expected=expected,
                published_empirical=empirical,
            )
            for task, draft, temperature, gamma, alpha, c, expected, empirical in PUBLISHED
        )
    )


def draw(data: Table4) -> Figure:
    """Returns the drawing: one line per setting with ours and the paper's two numbers."""
    from figures.drawing import style

    figure, (axes,) = style.canvas(
        "Theorem 8 with the published α and c, beside what the paper expected and measured",
        source="Leviathan et al. 2023, Table 4: T5-XXL on one TPU v4; T is the temperature",
        width=9.2,
        height=5.0,
    )
    heights = range(len(data.rows))
    for height, row in zip(heights, data.rows, strict=True):
        values = (row.theorem8, row.published_expected, row.published_empirical)
        axes.plot(
            [min(values), max(values)],
            [height, height],
            color=style.PALE,
            linewidth=4,
            label=None if height else "their span",
        )
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
