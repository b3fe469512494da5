"""Kim et al. 2024 (blockwise drafts), Table 13: time to find the best path, by lattice size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.blockwise.measured import PAPER
from figures.blockwise.times import Latency, draw_times, how, own_of, times
from figures.drawing.table import Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def compute() -> Rows[Latency]:
    """Returns the times by steps and arcs, of one path."""
    return times("blockwise-table13")


def draw(data: Rows[Latency]) -> Figure:
    """Returns the drawing: a panel for each number of steps."""
    from figures.drawing import style

    depths = sorted({row.steps for row in data.rows})
    figure, panels = style.canvas(
        "The best path of 16 steps of 16 arcs: "
        f"{own_of([row for row in data.rows if row.steps == row.arcs == 16])}",
        source=f"{PAPER}, Table 13: a 4-gram of 100 M n-grams, OpenFST. {how()}",
        columns=len(depths),
        width=9.6,
        height=4.2,
    )
    top = 1.05 * max(row.ms if row.high is None else row.high for row in data.rows)
    for steps, axes in zip(depths, panels, strict=True):
        draw_times(axes, [row for row in data.rows if row.steps == steps], along="arcs")
        axes.set_ylim(0, top)
        style.name_axes(
            axes, x="arcs at each step", y="milliseconds" if steps == depths[0] else "",
            panel=f"{steps} steps",
        )  # fmt: skip
    style.key(panels[0], anchor=(0.02, 0.72))
    return figure
