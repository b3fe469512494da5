"""Kim et al. 2023 (BiLD), Table 4: how often either method calls the large model and rolls back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.bild.measured import NO_LOSS, measured
from figures.bild.published import TABLE4
from figures.bild.tables import METRICS_NOTE, Line, draw_lines, measured_line, published
from figures.drawing.table import Table, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Table4:
    """The paper's lines, then ours, and where ours are from."""

    lines: tuple[Line, ...]
    source: str

    def table(self) -> Table:
        return table_of(self.lines)


def compute() -> Table4:
    """Returns unaligned pairs, greedy: strict at its best γ, BiLD's fastest without loss."""
    ours = measured()
    lines = [
        published(dataset, method, numbers)
        for dataset, methods in TABLE4.items()
        for method, numbers in methods.items()
    ]
    for sweep in ours.sweeps:
        if (sweep.draft, sweep.sampling) == ("unaligned", "greedy"):
            strict = max(sweep.of("strict"), key=lambda row: row.speedup)
            lines.append(measured_line(sweep, "rejection sampling", strict))
            row = sweep.fastest(sweep.of("bild"), loss=NO_LOSS)
            lines.append(measured_line(sweep, "BiLD", row))
    return Table4(tuple(lines), ours.source)


def draw(data: Table4) -> Figure:
    """Returns the table, ours below the paper's."""
    return draw_lines(
        data.lines,
        title="Quality, speed-up, and large calls / rollbacks in per cent of the tokens",
        source="Kim et al. 2023 (BiLD), Table 4, whose percentages it does not define; "
        f"{data.source}: {METRICS_NOTE}; BiLD: its fastest that loses at most {NO_LOSS} points",
        percentages=True,
    )
