"""Kim et al. 2024 (blockwise drafts), Figure 6: block efficiency of the best path among k arcs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.blockwise.measured import OURS, PAPER, analysis, said
from figures.blockwise.table9 import COLUMNS, PUBLISHED
from figures.drawing.table import Table, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Oracle:
    """Block efficiency of the path that stands longest, over that of the likeliest arcs (k = 1).

    low, high: of our block efficiency, 95 %.
    """

    dataset: str
    k: int
    block_efficiency: float
    relative: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Fig6:
    """The paper's three points a data set (its Table 9), then ours."""

    rows: tuple[Oracle, ...]

    def table(self) -> Table:
        return table_of(self.rows)


def compute() -> Fig6:
    """Returns oracle block efficiencies by k."""
    rows = []
    for dataset, printed in PUBLISHED.items():
        values = dict(zip(COLUMNS, printed, strict=True))
        base = values["base"]
        assert base is not None
        for k, column in ((1, "base"), (2, "oracle k=2"), (16, "oracle k=16")):
            value = values[column]
            assert value is not None
            rows.append(Oracle(dataset, k, value, value / base, None, None))
    ours = analysis()["oracle"]
    base = ours[0]["block_efficiency"]
    rows += [
        Oracle(
            OURS, row["k"], row["block_efficiency"], row["block_efficiency"] / base, row["low"],
            row["high"],
        )
        for row in ours
    ]  # fmt: skip
    return Fig6(tuple(rows))


def draw(data: Fig6) -> Figure:
    """Returns the drawing: our curve with its intervals, the paper's points."""
    from figures.drawing import style

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
        own = dataset == OURS
        axes.plot(
            [row.k for row in rows],
            [row.block_efficiency for row in rows],
            marker="o",
            markersize=4,
            color=colour,
            linewidth=2.5 if own else 1,
            linestyle="-" if own else ":",
        )
        if own:
            axes.fill_between(
                [row.k for row in rows],
                [row.low or row.block_efficiency for row in rows],
                [row.high or row.block_efficiency for row in rows],
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
        labels.append((rows[-1].block_efficiency, dataset, colour))
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    axes.set_ylim(bottom=1)
    style.name_axes(axes, x="k, arcs at each head", y="oracle block efficiency")
    style.label_right(axes, labels)
    return figure
