"""The numbers behind a figure as rows and columns: what its CSV file holds."""

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Record = TypeVar("Record")
Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns and rows of the same width; None is an empty cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"row must have {len(self.columns)} cells, got {len(row)}")

    def csv(self) -> str:
        """Returns the table as CSV; floats in the shortest form that reads back exactly."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


def table_of(records: Sequence[Any]) -> Table:
    """Returns records of one flat dataclass as a table with a column for each field."""
    names = tuple(field.name for field in dataclasses.fields(records[0]))
    return Table(names, tuple(tuple(getattr(r, name) for name in names) for r in records))


@dataclass(frozen=True, slots=True)
class Rows(Generic[Record]):
    """What a figure draws: records of one flat dataclass, each a row of its CSV file."""

    rows: tuple[Record, ...]

    def table(self) -> Table:
        return table_of(self.rows)


@dataclass(frozen=True, slots=True)
class Curves:
    """What a figure draws: lines over one axis, each a column of its CSV file.

    x_name, names: the columns.
    x: shape (points,).
    lines: by name, shape (names, points).
    """

    x_name: str
    x: tuple[float, ...]
    names: tuple[str, ...]
    lines: tuple[tuple[float, ...], ...]

    def table(self) -> Table:
        return Table((self.x_name, *self.names), tuple(zip(self.x, *self.lines, strict=True)))

    def line(self, name: str) -> tuple[float, ...]:
        """Returns a line by its name."""
        return self.lines[self.names.index(name)]


def curves(x_name: str, x: Any, lines: Mapping[str, Any]) -> Curves:
    """Returns lines over one axis from arrays of shape (points,)."""
    values = tuple(tuple(line.tolist()) for line in lines.values())
    return Curves(x_name, tuple(x.tolist()), tuple(lines), values)
