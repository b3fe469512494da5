"""Times to find the best paths of a lattice: the paper's Tables 12 and 13, and ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from figures.blockwise.measured import PAPER, latencies
from figures.drawing import style
from figures.drawing.table import Drawing, FigureRows
from figures.published import published
from simulator.numerics.intervals import percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Milliseconds for one lattice: the paper's, or ours with an interval over lattices.

    Defaults: values that Table 12 (8 steps of 16 arcs) and Table 13 (one path) leave out.
    """

    source: str = "paper"
    ngram: str = "4-gram"
    steps: int = 8
    arcs: int = 16
    paths: int = 1
    ms: float
    low: float | None = None
    high: float | None = None


def times(table: str) -> FigureRows[Latency]:
    """Returns the times in the paper's table, then ours for lattices of the same sizes."""
    printed = published(table, Latency)
    sizes = {(row.steps, row.arcs, row.paths) for row in printed}
    ours = [
        Latency(
            source="ours", ngram=f"{row.order}-gram", steps=row.steps, arcs=row.arcs,
            paths=row.paths, ms=row.ms, low=row.low, high=row.high,
        )
        for row in latencies().rows
        if (row.steps, row.arcs, row.paths) in sizes
    ]  # fmt: skip
    return FigureRows((*printed, *sorted(ours, key=lambda row: (row.ngram, row.steps, row.paths))))


def how() -> str:
    """Returns how our times were measured, for the small print."""
    setup = latencies().setup
    sizes = ", ".join(f"{name} {sum(n) / 1e6:.1f} M" for name, n in setup.ngrams.items())
    return (
        f"Ours: numpy {setup.numpy}, one core of an AMD EPYC virtual machine, {setup.date}; "
        f"{setup.lattices} lattices along held-out library code, the fastest of "
        f"{setup.repeats} repeats of each, mean and "
        f"{percent(latencies().confidence)} interval over lattices; n-grams: {sizes}"
    )


def own_of(rows: Sequence[Latency]) -> str:
    """Returns our milliseconds by n-gram, for a title."""
    return ", ".join(f"{row.ms:.1f} ms with a {row.ngram}" for row in rows if row.source == "ours")


def draw_times(axes: style.Axes, rows: Sequence[Latency], *, along: str) -> list[tuple[str, str]]:
    """Draws a line for the paper and one for each of our n-grams; returns their names.

    along: field of the horizontal axis, "paths" or "arcs".
    """
    lines = list(dict.fromkeys((row.source, row.ngram) for row in rows))
    for (source, ngram), (mark, colour) in zip(lines, style.marks(), strict=False):
        own = [row for row in rows if (row.source, row.ngram) == (source, ngram)]
        places = [getattr(row, along) for row in own]
        axes.plot(
            places, [row.ms for row in own], marker=mark, color=colour, label=f"{source}, {ngram}"
        )
        ends = ((at, row.low, row.high) for at, row in zip(places, own, strict=True))
        style.intervals(axes, ends, colour)
    style.octaves_on_x(axes, sorted({getattr(row, along) for row in rows}))
    return lines


def draw_by_paths(data: FigureRows[Latency]) -> style.Figure:
    """Returns the drawing: a line for the paper and one for each of our n-grams."""
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


def draw_by_size(data: FigureRows[Latency]) -> style.Figure:
    """Returns the drawing: a panel for each number of steps."""
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


FIGURES: Mapping[str, Drawing] = {
    "blockwise-table12": Drawing(partial(times, "blockwise-table12"), draw_by_paths),
    "blockwise-table13": Drawing(partial(times, "blockwise-table13"), draw_by_size),
}
