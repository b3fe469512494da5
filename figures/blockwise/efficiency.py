"""Kim et al. 2024 (blockwise drafts), Figures 6 and 7: block efficiency by arcs and by drafts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from figures.blockwise.measured import OURS, PAPER, analysis, said
from figures.drawing import style
from figures.drawing.table import Drawing, FigureRows
from figures.published import published_grid

WAYS = ("parallel base", "parallel 4-gram")


@dataclass(frozen=True, slots=True)
class OracleEfficiency:
    """Block efficiency of the best path among k arcs a head.

    relative: over the block efficiency at k = 1.
    low, high: interval of our block efficiency.
    """

    dataset: str
    k: int
    block_efficiency: float
    relative: float
    low: float | None = None
    high: float | None = None


def by_arcs() -> FigureRows[OracleEfficiency]:
    """Returns oracle block efficiencies by k: the paper's three points per data set, then ours."""
    rows = []
    for dataset, printed in published_grid("blockwise-table9").items():
        base = printed["base"] or 1.0
        for k, column in ((1, "base"), (2, "oracle k=2"), (16, "oracle k=16")):
            value = printed[column] or 1.0
            rows.append(OracleEfficiency(dataset, k, value, value / base))
    ours = analysis().oracle
    rows += [
        OracleEfficiency(
            OURS, way.k or 1, way.block_efficiency,
            way.block_efficiency / ours[0].block_efficiency, way.low, way.high,
        )
        for way in ours
    ]  # fmt: skip
    return FigureRows(tuple(rows))


def draw_by_arcs(data: FigureRows[OracleEfficiency]) -> style.Figure:
    """Returns Figure 6: our curve with its intervals, the paper's points."""
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


@dataclass(frozen=True, slots=True)
class ParallelEfficiency:
    """Block efficiency of the p best paths; low, high: interval of ours."""

    dataset: str
    way: str
    p: int
    block_efficiency: float
    low: float | None = None
    high: float | None = None


def by_drafts() -> FigureRows[ParallelEfficiency]:
    """Returns block efficiencies by p: the paper's two points per data set and way, then ours."""
    rows = []
    for dataset, printed in published_grid("blockwise-table4").items():
        for way, single in zip(WAYS, ("base", "4-gram"), strict=True):
            rows.append(ParallelEfficiency(dataset, way, 1, printed[single] or 1.0))
            rows.append(ParallelEfficiency(dataset, way, 16, printed[way] or 1.0))
    rows += [
        ParallelEfficiency(OURS, way.name, way.p or 1, way.block_efficiency, way.low, way.high)
        for way in analysis().parallel
        if way.name in WAYS
    ]
    return FigureRows(tuple(rows))


def draw_by_drafts(data: FigureRows[ParallelEfficiency]) -> style.Figure:
    """Returns Figure 7: a panel for each data set, starting with ours."""
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


FIGURES: Mapping[str, Drawing] = {
    "blockwise-fig6": Drawing(by_arcs, draw_by_arcs),
    "blockwise-fig7": Drawing(by_drafts, draw_by_drafts),
}
