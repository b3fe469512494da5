"""Kim et al. 2023 (BiLD), Table 1: speed-up without loss and with one point lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.bild.measured import NO_LOSS, Measured, measured
from figures.bild.published import TABLE1
from figures.bild.tables import METRICS_NOTE, Line, draw_lines, measured_line, published
from figures.drawing.table import Table, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOSSES = {"no loss": NO_LOSS, "1 point": 1.0}


@dataclass(frozen=True, slots=True)
class Table1:
    """The paper's lines, then ours, and where ours are from."""

    lines: tuple[Line, ...]
    source: str

    def table(self) -> Table:
        return table_of(self.lines)


def compute() -> Table1:
    """Returns the paper's four data sets and our tasks at temperature 0."""
    ours = measured()
    lines = [
        published(dataset, method, numbers)
        for dataset, methods in TABLE1.items()
        for method, numbers in methods.items()
    ]
    for task in dict.fromkeys(sweep.task for sweep in ours.sweeps):
        lines += _of(ours, task)
    return Table1(tuple(lines), ours.source)


def _of(ours: Measured, task: str) -> list[Line]:
    """Returns a task's lines: vanilla, then each draft's fastest row at each loss."""
    lines: list[Line] = []
    for draft in ("unaligned", "aligned"):
        sweep = ours.sweep(task, draft)
        if sweep is None:
            continue
        if not lines:
            lines.append(measured_line(sweep, "vanilla", sweep.large))
        for name, loss in LOSSES.items():
            row = sweep.fastest(sweep.of("bild"), loss=loss)
            lines.append(measured_line(sweep, f"{draft}, {name}", row))
    return lines


def draw(data: Table1) -> Figure:
    """Returns the table, ours below the paper's."""
    return draw_lines(
        data.lines,
        title="Quality and speed-up of BiLD without loss and with one point lost",
        source="Kim et al. 2023 (BiLD), Table 1: BLEU or ROUGE-L on a T4; "
        f"{data.source}: {METRICS_NOTE}; no loss: at most {NO_LOSS} points",
    )
