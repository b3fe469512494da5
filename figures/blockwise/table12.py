"""Kim et al. 2024 (blockwise drafts), Table 12: time to find the N best paths of a lattice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.blockwise.measured import PAPER, latencies
from figures.drawing.table import Table, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Milliseconds by number of paths, 8 steps of 16 arcs.
PUBLISHED = {1: 1.630, 2: 1.751, 4: 1.878, 8: 1.871, 16: 1.983}


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


@dataclass(frozen=True, slots=True)
class Latencies:
    """The table, the paper's numbers first."""

    rows: tuple[Latency, ...]

    def table(self) -> Table:
        return table_of(self.rows)


def ours(*, paths: int | None = None, steps: int | None = None) -> list[Latency]:
    """Returns our times, of so many paths and steps where these are given."""
    return [
        Latency(
            "ours", f"{row['order']}-gram", row["steps"], row["arcs"], row["paths"],
            row["ms"], row["low"], row["high"],
        )
        for row in latencies()["rows"]
        if paths in (None, row["paths"]) and steps in (None, row["steps"])
    ]  # fmt: skip


def how() -> str:
    """Returns how our times were taken, for the small print."""
    setup = latencies()["setup"]
    sizes = ", ".join(f"{name} {sum(n) / 1e6:.1f} M" for name, n in setup["ngrams"].items())
    return (
        f"Ours: numpy {setup['numpy']}, one core of an AMD EPYC virtual machine, {setup['date']}; "
        f"{setup['lattices']} lattices along held-out library code, the fastest of "
        f"{setup['repeats']} repeats of each, mean and 95 % interval over lattices; n-grams: "
        f"{sizes}"
    )


def compute() -> Latencies:
    """Returns the times by number of paths, 8 steps of 16 arcs."""
    printed = [
        Latency("paper", "4-gram", 8, 16, paths, ms, None, None)
        for paths, ms in PUBLISHED.items()
    ]
    own = [row for row in ours(steps=8) if row.arcs == 16]
    return Latencies((*printed, *sorted(own, key=lambda row: (row.ngram, row.paths))))


def draw(data: Latencies) -> Figure:
    """Returns the drawing: a line for the paper and one for each of our n-grams."""
    from figures.drawing import style

    last = {row.ngram: row.ms for row in data.rows if row.source == "ours" and row.paths == 16}
    figure, (axes,) = style.canvas(
        "The 16 best of 4.3 billion paths: "
        + ", ".join(f"{ms:.1f} ms with a {name}" for name, ms in last.items())
        + ", in numpy",
        source=f"{PAPER}, Table 12: 8 steps of 16 arcs, a 4-gram of 100 M n-grams, in OpenFST. "
        f"{how()}",
    )
    lines = list(dict.fromkeys((row.source, row.ngram) for row in data.rows))
    for (source, ngram), (mark, colour) in zip(lines, style.marks(), strict=False):
        rows = [row for row in data.rows if (row.source, row.ngram) == (source, ngram)]
        axes.plot(
            [row.paths for row in rows],
            [row.ms for row in rows],
            marker=mark,
            color=colour,
            label=f"{source}, {ngram}",
        )
        for row in rows:
            if row.low is not None and row.high is not None:
                axes.plot([row.paths] * 2, [row.low, row.high], color=colour, linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(PUBLISHED), [str(paths) for paths in PUBLISHED])
    axes.set_ylim(bottom=0)
    style.name_axes(axes, x="paths found", y="milliseconds for a lattice")
    style.key(axes, anchor=(0.0, 1.01), columns=len(lines))
    return figure
