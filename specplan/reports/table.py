"""Tables for a terminal: a row is a record, and a column maps records to text."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")
# The header of drafted tokens a block, which servers call num_speculative_tokens.
GAMMA = "gamma (K)"
MS, TOKENS = "ms/token", "tokens/s"


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column: its header, and a function from a record to text (see `shown` and `ranged`)."""

    header: str
    cell: Callable[[Row], str]


def table(
    rows: Iterable[Row],
    columns: Sequence[Column[Row]],
    *,
    best: Callable[[Row], bool] | None = None,
    note: Callable[[Row], str] | None = None,
) -> str:
    """Returns aligned text, one line per record, cells right-aligned.

    best: whether a row is marked as the best; note: text after a row, if any.
    """
    records = list(rows)
    cells = [[column.header for column in columns]]
    cells += [[column.cell(record) for column in columns] for record in records]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    ]
    for index, record in enumerate(records, start=1):
        after = ["<- best"] if best is not None and best(record) else []
        after += [note(record)] if note is not None and note(record) else []
        lines[index] = "  ".join([lines[index], *after])
    return "\n".join(lines)


def fastest(rows: Iterable[Row], speed: Callable[[Row], float]) -> Callable[[Row], bool]:
    """Returns a test for the first row with the largest speed-up, if that is a gain."""
    best = max(rows, key=speed, default=None)
    return lambda row: row is best and speed(row) > 1


def shown(value: float | None, form: str = ".2f", unit: str = "") -> str:
    """Returns a formatted number with its unit; a dash for None."""
    return "-" if value is None else f"{value:{form}}{unit}"


def ranged(value: float | None, low: float | None, high: float | None, form: str = ".2f") -> str:
    """Returns a number and its interval, as `0.80 [0.78, 0.82]`; a dash for None."""
    return "-" if value is None else f"{value:{form}} {bounds(low, high, form)}".rstrip()


def bounds(low: float | None, high: float | None, form: str = ".2f") -> str:
    """Returns an interval in brackets; empty if there is none."""
    return "" if low is None or high is None else f"[{low:{form}}, {high:{form}}]"
