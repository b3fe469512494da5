"""Kim et al. 2024 (blockwise drafts), Figure 6: block efficiency of the best path among k arcs."""

from __future__ import annotations

from dataclasses import dataclass

from figures.blockwise.measured import OURS, PAPER, analysis, said
from figures.drawing import style
from figures.drawing.table import FigureRows
from figures.published import published_grid


@dataclass(frozen=True, slots=True)
class Oracle:
    """Block efficiency of the path with the most accepted tokens, relative to k = 1.

    low, high: 95 % interval of our block efficiency.
    """

    dataset: str
    k: int
    block_efficiency: float
    relative: float
    low: float | None
    high: float | None


def compute() -> FigureRows[Oracle]:
    """Returns oracle block efficiencies by k: the paper's three points per data set, then ours."""
    rows = []
    for dataset, printed in published_grid("blockwise-table9").items():
        base = printed["base"] or 1.0
        for k, column in ((1, "base"), (2, "oracle k=2"), (16, "oracle k=16")):
            value = printed[column] or 1.0
            rows.append(Oracle(dataset, k, value, value / base, None, None))
    ours = analysis().oracle
    rows += [
        Oracle(
            OURS, way.k or 1, way.block_efficiency,
            way.block_efficiency / ours[0].block_efficiency, way.low, way.high,
        )
        for way in ours
    ]  # fmt: skip
    return FigureRows(tuple(rows))


def draw(data: FigureRows[Oracle]) -> style.Figure:
    """Returns the drawing: our curve with its intervals, the paper's points."""
    ours = [row for row in data.rows if row.dataset == OURS]
    figure, (axes,) = style.canvas(
        f"The best path among {ours[-1].k} arcs a head has {ours[-1].relative:.2f} times the block "
        "efficiency of the heads' own",
        source=f"{PAPER}, Figure 6, of whose curves Table 9 prints k = 1, 2 and 16. {said()}",
        width=8.0,
        height=4.8,
    )
    labels = []
    names = dict.fromkeys(row.dataset for row in data.rows)
    colours = (*style.CYCLE[:-1], style.GREY, style.INK)
    for dataset, colour in zip(names, colours, strict=True):
        rows = [row for row in data.rows if row.dataset == dataset]
        places, reached = [row.k for row in rows], [row.block_efficiency for row in rows]
        width, dashes = (2.5, "-") if dataset == OURS else (1, ":")
        axes.plot(
            places, reached, marker="o", markersize=4, color=colour, linewidth=width,
            linestyle=dashes,
        )  # fmt: skip
        if dataset == OURS:
            low = [row.low or row.block_efficiency for row in rows]
            high = [row.high or row.block_efficiency for row in rows]
            axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
        labels.append((rows[-1].block_efficiency, dataset, colour))
    style.octaves_on_x(axes, [1, 2, 4, 8, 16])
    axes.set_ylim(bottom=1)
    style.name_axes(axes, x="k, arcs at each head", y="oracle block efficiency")
    style.label_right(axes, labels)
    return figure
