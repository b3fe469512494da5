"""Kim et al. 2024 (blockwise drafts), Table 12: time to find the N best paths of a lattice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.blockwise.measured import PAPER
from figures.blockwise.times import Latency, draw_times, how, own_of, times
from figures.drawing.table import Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def compute() -> Rows[Latency]:
    """Returns the times by number of paths, 8 steps of 16 arcs."""
    return times("blockwise-table12")


def draw(data: Rows[Latency]) -> Figure:
    """Returns the drawing: a line for the paper and one for each of our n-grams."""
    from figures.drawing import style

    figure, (axes,) = style.canvas(
        "The 16 best of 4.3 billion paths: "
        f"{own_of([row for row in data.rows if row.paths == 16])}, in numpy",
        source=f"{PAPER}, Table 12: 8 steps of 16 arcs, a 4-gram of 100 M n-grams, in OpenFST. "
        f"{how()}",
    )
    lines = draw_times(axes, data.rows, along="paths")
    axes.set_ylim(bottom=0)
    style.name_axes(axes, x="paths found", y="milliseconds for a lattice")
    style.key(axes, anchor=(0.0, 1.01), columns=len(lines))
    return figure
