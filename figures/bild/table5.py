"""Kim et al. 2023 (BiLD), Table 5: nucleus sampling at p = 0.8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.bild.measured import NO_LOSS, measured
from figures.bild.published import TABLE5
from figures.bild.tables import METRICS_NOTE, Line, draw_lines, measured_line, published
from figures.drawing.table import Table, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Table5:
    """The paper's lines, then ours, and where ours are from."""

    lines: tuple[Line, ...]
    source: str

    def table(self) -> Table:
        return table_of(self.lines)


def compute() -> Table5:
    """Returns the paper's three operating points and ours: the best, no loss, one point lost."""
    ours = measured()
    lines = [
        published(dataset, method, numbers)
        for dataset, methods in TABLE5.items()
        for method, numbers in methods.items()
    ]
    for sweep in ours.sweeps:
        if sweep.sampling == "nucleus 0.8":
            bild = sweep.of("bild")
            best = max(bild, key=lambda row: row.quality)
            lines += [
                measured_line(sweep, "vanilla", sweep.large),
                measured_line(sweep, "BiLD", best),
                measured_line(sweep, "BiLD, no loss", sweep.fastest(bild, loss=NO_LOSS)),
                measured_line(sweep, "BiLD, 1 point", sweep.fastest(bild, loss=1.0)),
            ]
    return Table5(tuple(lines), ours.source)


def draw(data: Table5) -> Figure:
    """Returns the table, ours below the paper's."""
    return draw_lines(
        data.lines,
        title="BiLD with nucleus sampling, p = 0.8",
        source="Kim et al. 2023 (BiLD), Table 5: BLEU or ROUGE-L on a T4; "
        f"{data.source}: {METRICS_NOTE}; the first BiLD is ours of the best quality",
    )
