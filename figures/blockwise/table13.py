"""Kim et al. 2024 (blockwise drafts), Table 13: time to find the best path, by lattice size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.blockwise.measured import PAPER
from figures.blockwise.table12 import Latencies, Latency, how, ours

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Milliseconds by (steps, arcs), one path.
PUBLISHED = {
    (4, 2): 1.038, (4, 4): 1.050, (4, 8): 1.130, (4, 16): 1.237,
    (8, 2): 1.061, (8, 4): 1.144, (8, 8): 1.234, (8, 16): 1.630,
    (16, 2): 1.102, (16, 4): 1.206, (16, 8): 1.558, (16, 16): 2.174,
}  # fmt: skip


def compute() -> Latencies:
    """Returns the times by steps and arcs, of one path."""
    printed = [
        Latency("paper", "4-gram", steps, arcs, 1, ms, None, None)
        for (steps, arcs), ms in PUBLISHED.items()
    ]
    return Latencies((*printed, *ours(paths=1)))


def draw(data: Latencies) -> Figure:
    """Returns the drawing: a panel for each number of steps."""
    from figures.drawing import style

    depths = sorted({row.steps for row in data.rows})
    largest = {
        row.ngram: row.ms for row in data.rows if row.source == "ours" and row.arcs == row.steps
    }
    figure, panels = style.canvas(
        "The best path of 16 steps of 16 arcs: "
        + ", ".join(f"{ms:.1f} ms with a {name}" for name, ms in largest.items()),
        source=f"{PAPER}, Table 13: a 4-gram of 100 M n-grams, OpenFST. {how()}",
        columns=len(depths),
        width=9.6,
        height=4.2,
    )
    lines = list(dict.fromkeys((row.source, row.ngram) for row in data.rows))
    top = 1.05 * max(row.ms if row.high is None else row.high for row in data.rows)
    for steps, axes in zip(depths, panels, strict=True):
        for (source, ngram), (mark, colour) in zip(lines, style.marks(), strict=False):
            rows = [
                row
                for row in data.rows
                if (row.source, row.ngram, row.steps) == (source, ngram, steps)
            ]
            axes.plot(
                [row.arcs for row in rows],
                [row.ms for row in rows],
                marker=mark,
                color=colour,
                label=f"{source}, {ngram}",
            )
            for row in rows:
                if row.low is not None and row.high is not None:
                    axes.plot([row.arcs] * 2, [row.low, row.high], color=colour, linewidth=1)
        axes.set_xscale("log", base=2)
        axes.set_xticks([2, 4, 8, 16], ["2", "4", "8", "16"])
        axes.set_ylim(0, top)
        style.name_axes(
            axes, x="arcs at each step", y="milliseconds" if steps == depths[0] else "",
            panel=f"{steps} steps",
        )  # fmt: skip
    style.key(panels[0], anchor=(0.02, 0.72))
    return figure
