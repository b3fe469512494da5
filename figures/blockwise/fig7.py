"""Kim et al. 2024 (blockwise drafts), Figure 7: block efficiency of p drafts in one call."""

from __future__ import annotations

from dataclasses import dataclass

from figures.blockwise.measured import OURS, PAPER, analysis, said
from figures.drawing import style
from figures.drawing.table import FigureRows
from figures.published import published_grid

WAYS = ("parallel base", "parallel 4-gram")


@dataclass(frozen=True, slots=True)
class Parallel:
    """Block efficiency of the p best paths; low, high: 95 % interval of ours."""

    dataset: str
    way: str
    p: int
    block_efficiency: float
    low: float | None
    high: float | None


def compute() -> FigureRows[Parallel]:
    """Returns block efficiencies by p: the paper's two points per data set and way, then ours."""
    rows = []
    for dataset, printed in published_grid("blockwise-table4").items():
        for way, single in zip(WAYS, ("base", "4-gram"), strict=True):
            rows.append(Parallel(dataset, way, 1, printed[single] or 1.0, None, None))
            rows.append(Parallel(dataset, way, 16, printed[way] or 1.0, None, None))
    rows += [
        Parallel(OURS, way.name, way.p or 1, way.block_efficiency, way.low, way.high)
        for way in analysis().parallel
        if way.name in WAYS
    ]
    return FigureRows(tuple(rows))


def draw(data: FigureRows[Parallel]) -> style.Figure:
    """Returns the drawing: a panel for each data set, starting with ours."""
    names = list(dict.fromkeys(row.dataset for row in data.rows))
    datasets = [names[-1], *names[:-1]]
    ours = {row.way: row for row in data.rows if row.dataset == OURS and row.p == 16}
    figure, panels = style.canvas(
        "Sixteen drafts in one call: ours reach "
        + " and ".join(f"{row.block_efficiency:.2f} ({way})" for way, row in ours.items()),
        source=f"{PAPER}, Figure 7, of whose curves Table 4 prints p = 1 and 16. {said()}",
        columns=4,
        rows=2,
        width=10.5,
        height=5.4,
    )
    for place, (dataset, axes) in enumerate(zip(datasets, panels, strict=True)):
        for way, (mark, colour) in zip(WAYS, style.marks(), strict=False):
            rows = [row for row in data.rows if (row.dataset, row.way) == (dataset, way)]
            axes.plot(
                [row.p for row in rows], [row.block_efficiency for row in rows], marker=mark,
                markersize=5, color=colour, linestyle="-" if dataset == OURS else ":", label=way,
            )  # fmt: skip
            style.intervals(axes, ((row.p, row.low, row.high) for row in rows), colour)
        style.octaves_on_x(axes, [1, 2, 4, 8, 16])
        axes.margins(y=0.3 if dataset == OURS else 0.1)
        style.name_axes(
            axes,
            x="p, drafts verified at once" if place >= 4 else "",
            y="block efficiency" if place % 4 == 0 else "",
            panel=dataset,
        )
    style.key(panels[0], anchor=(0.02, 0.75))
    return figure
