"""Leviathan et al. 2023, Table 3: α of many pairs of models, and of our pairs if measured."""

from __future__ import annotations

from estimator.validation.file import Validated
from figures.drawing import style
from figures.drawing.style import short_name
from figures.drawing.table import FigureRows
from figures.published import LeviathanTable3, published


def compute(results: Validated | None = None) -> FigureRows[LeviathanTable3]:
    """Returns the published α, then α of each draft and temperature in the results, if given."""
    rows = published("leviathan-table3", LeviathanTable3)
    measured: dict[tuple[str, float], LeviathanTable3] = {}
    for row in () if results is None else results.rows:
        if row.alpha is not None:
            entry = LeviathanTable3(
                source="measured",
                target="ours",
                draft=row.draft,
                temperature=row.temperature,
                alpha=row.alpha,
            )
            measured.setdefault((row.draft, row.temperature), entry)
    return FigureRows((*rows, *measured.values()), None if results is None else results.name)


def draw(data: FigureRows[LeviathanTable3]) -> style.Figure:
    """Returns the drawing: a dot for each temperature on one line per pair of models."""
    pairs = list(dict.fromkeys((row.target, row.draft) for row in data.rows))
    targets = list(dict.fromkeys(target for target, _ in pairs))
    # Each target's name has its own line, above its drafts.
    heights: dict[tuple[str, str], int] = {}
    names: list[tuple[int, str, str]] = []
    height = 0
    for target in targets:
        names.append((height, target, "bold"))
        for pair in (pair for pair in pairs if pair[0] == target):
            height += 1
            heights[pair] = height
            names.append((height, short_name(pair[1]), "normal"))
        height += 1
    printed = [row for row in data.rows if row.source == "published"]
    small, grams = (
        [row.alpha for row in printed if ("gram" in row.draft) == is_gram]
        for is_gram in (False, True)
    )
    shown = "published" if data.caption is None else f"published, and ours from {data.caption}"
    figure, (axes,) = style.canvas(
        f"Published α: {min(small):.2f} to {max(small):.2f} for small models, at most "
        f"{max(grams):.2f} for n-grams",
        source=f"Leviathan et al. 2023, Table 3 ({shown}); α = E[Σ min(p, q)], Corollary 6",
        width=max(7.2, 5.4 + 0.085 * max(len(name) for _, name, _ in names)),
        height=1.6 + 0.21 * height,
    )
    temperatures = sorted({row.temperature for row in data.rows})
    for temperature, (mark, colour) in zip(temperatures, style.marks(), strict=False):
        chosen = [row for row in data.rows if row.temperature == temperature]
        places = [heights[row.target, row.draft] for row in chosen]
        axes.plot(
            [row.alpha for row in chosen], places, mark, color=colour, mew=1.8,
            markerfacecolor="none" if temperature else colour, markersize=7 if temperature else 6,
            label=f"temperature {temperature:g}",
        )  # fmt: skip
    axes.set_yticks([line for line, _, _ in names], [name for _, name, _ in names])
    for tick, (_, _, weight) in zip(axes.get_yticklabels(), names, strict=True):
        tick.set_fontweight(weight)
    axes.set_ylim(height, -0.7)
    axes.set_xlim(0, 1)
    style.name_axes(axes, x="acceptance rate α", y="")
    style.key(axes, anchor=(0.0, 1.01), columns=len(temperatures))
    return figure
