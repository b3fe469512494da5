"""Kim et al. 2023 (BiLD), Table 3: BiLD at the speed, or the quality, of speculative decoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.bild.measured import Row, Sweep, measured
from figures.bild.published import TABLE3
from figures.bild.tables import METRICS_NOTE, Line, draw_lines, measured_line, published
from figures.drawing.table import Table, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Table3:
    """The paper's lines, then ours, and where ours are from."""

    lines: tuple[Line, ...]
    source: str

    def table(self) -> Table:
        return table_of(self.lines)


def compute() -> Table3:
    """Returns unaligned pairs: speculative decoding at its best γ, BiLD at its speed or quality."""
    ours = measured()
    lines = [
        published(dataset, method, numbers)
        for dataset, methods in TABLE3.items()
        for method, numbers in methods.items()
    ]
    for sweep in ours.sweeps:
        if (sweep.draft, sweep.sampling) == ("unaligned", "greedy"):
            lines += _of(sweep)
    return Table3(tuple(lines), ours.source)


def _of(sweep: Sweep) -> list[Line]:
    strict = max(sweep.of("strict"), key=lambda row: row.speedup)
    as_fast = [row for row in sweep.of("bild") if row.speedup >= strict.speedup]
    best: Row | None = max(as_fast, key=lambda row: row.quality, default=None)
    as_good = [row for row in sweep.of("bild") if row.quality >= strict.quality]
    fastest: Row | None = max(as_good, key=lambda row: row.speedup, default=None)
    return [
        measured_line(sweep, "vanilla", sweep.large),
        measured_line(sweep, "rejection sampling", strict),
        measured_line(sweep, "BiLD, its latency", best),
        measured_line(sweep, "BiLD, its quality", fastest),
    ]


def draw(data: Table3) -> Figure:
    """Returns the table, ours below the paper's."""
    return draw_lines(
        data.lines,
        title="BiLD where it is as fast as speculative decoding, and where it is as good",
        source="Kim et al. 2023 (BiLD), Table 3: BLEU or ROUGE-L on a T4; "
        f"{data.source}: {METRICS_NOTE}; rejection sampling: strict, at its fastest γ",
    )
