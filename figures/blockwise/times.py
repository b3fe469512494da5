"""Times to find the best paths of a lattice: the paper's Tables 12 and 13, and ours."""

from __future__ import annotations

from functools import partial

from figures import drawing
from figures.blockwise.measured import PAPER
from figures.numbers import Numbers, numbers, published, results
from simulator.numerics.intervals import FORMER_CONFIDENCE, percent


def times(table: str) -> Numbers:
    """Returns milliseconds for one lattice: the paper's table, then ours for the same sizes.

    Ours have intervals over lattices. Table 12 is of 8 steps of 16 arcs, Table 13 of one path.
    """
    printed = [
        (
            *("paper", "4-gram", getattr(row, "steps", 8), getattr(row, "arcs", 16)),
            *(getattr(row, "paths", 1), row.ms, None, None),
        )
        for row in published(table)
    ]
    sizes = {row[2:5] for row in printed}
    ours = [
        (
            *("ours", f"{row.order}-gram", row.steps, row.arcs, row.paths),
            *(row.ms, row.low, row.high),
        )
        for row in results("lattice").rows
        if (row.steps, row.arcs, row.paths) in sizes
    ]
    ours.sort(key=lambda row: (row[1], row[2], row[4]))
    return numbers("source ngram steps arcs paths ms low high", [*printed, *ours])


def _how() -> str:
    """Returns how our times were measured, for the small print."""
    found = results("lattice")
    setup, level = found.setup, getattr(found, "confidence", FORMER_CONFIDENCE)
    sizes = ", ".join(f"{name} {sum(n) / 1e6:.1f} M" for name, n in vars(setup.ngrams).items())
    return (
        f"Ours: numpy {setup.numpy}, one core of an AMD EPYC virtual machine, {setup.date}; "
        f"{setup.lattices} lattices along held-out library code, the fastest of "
        f"{setup.repeats} repeats of each, mean and "
        f"{percent(level)} interval over lattices; n-grams: {sizes}"
    )


def _own_of(rows: Numbers) -> str:
    """Returns our milliseconds by n-gram, for a title."""
    ours = rows.where(source="ours")
    return ", ".join(f"{row.ms:.1f} ms with a {row.ngram}" for row in ours)


def _draw_times(axes: drawing.Axes, data: Numbers, *, along: str) -> None:
    """Draws a line for the paper and one for each of our n-grams.

    along: column of the horizontal axis, "paths" or "arcs".
    """
    lines = dict.fromkeys(zip(data["source"], data["ngram"], strict=True))
    for (source, ngram), (mark, colour) in zip(lines, drawing.marks(), strict=False):
        rows = data.where(source=source, ngram=ngram)
        label = f"{source}, {ngram}"
        axes.plot(rows[along], rows["ms"], marker=mark, color=colour, label=label)
        drawing.intervals(axes, zip(rows[along], rows["low"], rows["high"], strict=True), colour)
    drawing.octaves_on_x(axes, sorted(data.distinct(along)))


def draw_by_paths(data: Numbers) -> drawing.Figure:
    """Returns Table 12: a line for the paper and one for each of our n-grams."""
    figure, (axes,) = drawing.canvas(
        f"The 16 best of 4.3 billion paths: {_own_of(data.where(paths=16))}, in numpy",
        source=f"{PAPER}, Table 12: 8 steps of 16 arcs, a 4-gram of 100 M n-grams, in OpenFST. "
        f"{_how()}",
    )
    _draw_times(axes, data, along="paths")
    axes.set_ylim(bottom=0)
    drawing.name_axes(axes, x="paths found", y="milliseconds for a lattice")
    drawing.key(axes, anchor=(0.0, 1.01), columns=3)
    return figure


def draw_by_size(data: Numbers) -> drawing.Figure:
    """Returns Table 13: a panel for each number of steps."""
    depths = sorted(data.distinct("steps"))
    figure, panels = drawing.canvas(
        f"The best path of 16 steps of 16 arcs: {_own_of(data.where(steps=16, arcs=16))}",
        source=f"{PAPER}, Table 13: a 4-gram of 100 M n-grams, OpenFST. {_how()}",
        columns=len(depths),
        width=9.6,
        height=4.2,
    )
    top = 1.05 * max(row.high or row.ms for row in data)
    for steps, axes in zip(depths, panels, strict=True):
        _draw_times(axes, data.where(steps=steps), along="arcs")
        axes.set_ylim(0, top)
        y = "milliseconds" if steps == depths[0] else ""
        drawing.name_axes(axes, x="arcs at each step", y=y, panel=f"{steps} steps")
    drawing.key(panels[0], anchor=(0.02, 0.72))
    return figure


FIGURES: drawing.Declared = {
    "blockwise-table12": (partial(times, "blockwise-table12"), draw_by_paths),
    "blockwise-table13": (partial(times, "blockwise-table13"), draw_by_size),
}
