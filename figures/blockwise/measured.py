"""What was measured on the embedded target, beside which the paper's numbers are drawn.

`benchmarks/blockwise_drafts.py` and `benchmarks/lattice_rescoring.py` wrote the two files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures.drawing.table import Table, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[1] / "results"
OURS = "embedded (Python)"
PAPER = "Kim et al. 2024 (blockwise drafts)"


@cache
def analysis() -> Any:
    """Returns what `specplan heads analyse` says of the embedded target."""
    return json.loads((RESULTS / "blockwise.json").read_text(encoding="utf-8"))


@cache
def latencies() -> Any:
    """Returns the times of rescoring lattices."""
    return json.loads((RESULTS / "lattice.json").read_text(encoding="utf-8"))


def variants() -> Mapping[str, Any]:
    """Returns the ways to draft by name."""
    return {row["name"]: row for row in analysis()["variants"]}


def said() -> str:
    """Returns of what our numbers are, for the small print."""
    result = analysis()
    return (
        f"Ours: {result['texts']} greedy texts of {result['tokens']} tokens in all from held-out "
        f"library code, {result['heads']} heads, lattices of {result['k']} tokens a head, weights "
        f"tuned on {result['tuning_texts']} other texts; 95 % intervals over texts"
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a table: the paper's, or ours with its interval where it has one."""

    dataset: str
    column: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table by data set and column, the paper's rows first, ours last."""

    rows: tuple[Cell, ...]

    def table(self) -> Table:
        return table_of(self.rows)

    def ours(self, column: str) -> Cell:
        """Returns our cell of a column."""
        return next(c for c in self.rows if (c.dataset, c.column) == (OURS, column))


def grid(
    columns: Sequence[str],
    published: Mapping[str, Sequence[float | None]],
    ours: Mapping[str, Mapping[str, Any]],
) -> Grid:
    """Returns a table.

    Args:
      columns: names.
      published: the paper's numbers by data set, in the columns' order.
      ours: by column `value`, and `low` and `high` where there are any; missing columns are empty.
    """
    printed = [
        Cell(dataset, column, value)
        for dataset, values in published.items()
        for column, value in zip(columns, values, strict=True)
    ]
    own = [
        Cell(OURS, column, **ours[column]) if column in ours else Cell(OURS, column, None)
        for column in columns
    ]
    return Grid((*printed, *own))


def efficiency(name: str) -> dict[str, float]:
    """Returns the block efficiency of one way to draft, as a cell has it."""
    row = variants()[name]
    return {"value": row["block_efficiency"], "low": row["low"], "high": row["high"]}


def draw_grid(
    data: Grid, *, title: str, source: str, form: str = ".2f", width: float = 9.6
) -> Figure:
    """Returns the drawing: the paper's rows, then ours in bold with its interval below."""
    from figures.drawing import style

    datasets = list(dict.fromkeys(cell.dataset for cell in data.rows))
    columns = list(dict.fromkeys(cell.column for cell in data.rows))
    found = {(cell.dataset, cell.column): cell for cell in data.rows}

    def text(value: float | None) -> str:
        return "" if value is None else f"{value:{form}}"

    cells = [
        [dataset, *(text(found[dataset, column].value) for column in columns)]
        for dataset in datasets
    ]
    own = [found[OURS, column] for column in columns]
    if any(cell.low is not None for cell in own):
        cells.append(
            ["  95 %", *("" if c.low is None else f"{text(c.low)} to {text(c.high)}" for c in own)]
        )
    figure, (axes,) = style.canvas(
        title, source=source, width=width, height=1.35 + 0.27 * (len(cells) + 1)
    )
    ours_at = datasets.index(OURS)
    style.draw_table(
        axes,
        ("", *columns),
        cells,
        marked=[(ours_at, place) for place in range(len(columns) + 1)],
        widths=(1.5, *(1.0 for _ in columns)),
    )
    return figure
