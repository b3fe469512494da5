"""Times to find the best paths of a lattice: the paper's Tables 12 and 13, and ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.blockwise.measured import latencies
from figures.drawing.table import Rows
from figures.published import published

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Printed:
    """A cell as printed; Table 12 is of 8 steps of 16 arcs, Table 13 of one path."""

    ms: float
    steps: int = 8
    arcs: int = 16
    paths: int = 1


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds for one lattice: the paper's, or ours with a 95 % interval over lattices.

    ngram: "4-gram".
    """

    source: str
    ngram: str
    steps: int
    arcs: int
    paths: int
    ms: float
    low: float | None
    high: float | None


def times(table: str) -> Rows[Latency]:
    """Returns the times that a table of the paper prints, then ours of the same lattices."""
    printed = published(table, Printed)
    sizes = {(row.steps, row.arcs, row.paths) for row in printed}
    paper = [
        Latency("paper", "4-gram", row.steps, row.arcs, row.paths, row.ms, None, None)
        for row in printed
    ]
    ours = [
        Latency(
            "ours", f"{row.order}-gram", row.steps, row.arcs, row.paths, row.ms, row.low, row.high
        )
        for row in latencies().rows
        if (row.steps, row.arcs, row.paths) in sizes
    ]
    return Rows((*paper, *sorted(ours, key=lambda row: (row.ngram, row.steps, row.paths))))


def how() -> str:
    """Returns how our times were taken, for the small print."""
    setup = latencies().setup
    sizes = ", ".join(f"{name} {sum(n) / 1e6:.1f} M" for name, n in setup.ngrams.items())
    return (
        f"Ours: numpy {setup.numpy}, one core of an AMD EPYC virtual machine, {setup.date}; "
        f"{setup.lattices} lattices along held-out library code, the fastest of "
        f"{setup.repeats} repeats of each, mean and 95 % interval over lattices; n-grams: "
        f"{sizes}"
    )


def own_of(rows: Sequence[Latency]) -> str:
    """Returns our milliseconds by n-gram, for a title."""
    return ", ".join(f"{row.ms:.1f} ms with a {row.ngram}" for row in rows if row.source == "ours")


def draw_times(axes: Axes, rows: Sequence[Latency], *, along: str) -> list[tuple[str, str]]:
    """Draws a line for the paper and one for each of our n-grams, and returns which these are.

    Args:
      axes: to draw on.
      rows: of one panel.
      along: field of the horizontal axis, "paths" or "arcs".
    """
    from figures.drawing import style

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
