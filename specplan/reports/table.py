"""Tables for a terminal, and text folded to the terminal's width."""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import Formatter
from typing import Any, TypeVar, cast

Row = TypeVar("Row")
# A header, and the text below it: a template of the row's attributes or keys, as "{speed:.2f} ms",
# which is a dash where one of them is None or missing; or a function of the row.
Column = tuple[str, str | Callable[[Row], str]]
# The header of drafted tokens a block, which servers call num_speculative_tokens.
GAMMA = "gamma (K)"
MS, TOKENS = "ms/token", "tokens/s"
WIDTH = 80
_MISSING = "\0"


class _Template(Formatter):
    def get_value(self, key: Any, _: Any, row: Any) -> Any:
        return row.get(key) if isinstance(row, Mapping) else getattr(row, key)

    def format_field(self, value: Any, form: str) -> str:
        return _MISSING if value is None else format(value, form)


def table(
    rows: Iterable[Row],
    columns: Sequence[Column[Row]],
    *,
    best: Callable[[Row], bool] | None = None,
    note: Callable[[Row], str] | None = None,
) -> str:
    """Returns a table as text: a line of headers and a line for each row, cells right-aligned.

    best: returns whether to mark a row as the best; note: returns the text to add after a row.
    """
    records = list(rows)
    cells = [[header for header, _ in columns]]
    cells += [[_cell(record, cell) for _, cell in columns] for record in records]
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


def _cell(row: Row, cell: str | Callable[[Row], str]) -> str:
    if not isinstance(cell, str):
        return cell(row)
    text = _Template().vformat(cell, (), cast(Any, row))
    return "-" if _MISSING in text else text


def fastest(rows: Iterable[Row], speed: Callable[[Row], float]) -> Callable[[Row], bool]:
    """Returns a function that is true for the row with the largest speed-up, if above 1."""
    best = max(rows, key=speed, default=None)
    return lambda row: row is best and speed(row) > 1


def shown(value: float | None, form: str = ".2f", unit: str = "") -> str:
    """Returns a formatted number with its unit; a dash if the number is None."""
    return "-" if value is None else f"{value:{form}}{unit}"


def ranged(value: float | None, low: float | None, high: float | None, form: str = ".2f") -> str:
    """Returns a number and its interval, as `0.80 [0.78, 0.82]`; a dash if the number is None."""
    return "-" if value is None else f"{value:{form}} {bounds(low, high, form)}".rstrip()


def interval(row: object, name: str, form: str = ".2f") -> str:
    """Returns the attribute `name` of a row with its interval, `name`_low to `name`_high."""
    value, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    return ranged(value, low, high, form)


def bounds(low: float | None, high: float | None, form: str = ".2f") -> str:
    """Returns an interval in brackets; empty if there is none."""
    return "" if low is None or high is None else f"[{low:{form}}, {high:{form}}]"


def folded(text: str) -> str:
    """Returns text broken between words into lines of at most WIDTH characters."""
    return "\n".join(
        line
        if len(line) <= WIDTH
        else textwrap.fill(
            line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        for line in text.split("\n")
    )
