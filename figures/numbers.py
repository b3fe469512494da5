"""Tables of numbers: a figure's CSV file, the papers' printed tables, and our results files."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, Self

import numpy as np


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a figure: the rows of its CSV file.

    Indexing by name returns a column; iterating yields rows that have their cells as attributes.

    caption: origin of the numbers, e.g. a results file; None: catalogue.toml states the origin.

    Example:
      >>> data = numbers("model gamma", [("small", 2), ("small", 4), ("large", 2)])
      >>> data.where(model="small")["gamma"]
      (2, 4)
    """

    names: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    caption: str | None = None

    def __iter__(self) -> Iterator[SimpleNamespace]:
        for row in self.cells:
            yield SimpleNamespace(**dict(zip(self.names, row, strict=True)))

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        place = self.names.index(name)
        return tuple(row[place] for row in self.cells)

    def where(self, **wanted: Any) -> Self:
        """Returns the rows that have the given values in the given columns."""
        places = [(self.names.index(name), value) for name, value in wanted.items()]
        kept = (row for row in self.cells if all(row[at] == value for at, value in places))
        return replace(self, cells=tuple(kept))

    def distinct(self, name: str) -> list[Any]:
        """Returns the distinct values of a column, in the order of first occurrence."""
        return list(dict.fromkeys(self[name]))

    def csv(self) -> str:
        """Returns the table as CSV text. None is an empty cell; floats keep all their digits."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.names, *self.cells])
        return text.getvalue()


def numbers(names: str, rows: Iterable[Sequence[Any]], caption: str | None = None) -> Numbers:
    """Returns a table of rows; `names` are the column names, separated by spaces."""
    return Numbers(tuple(names.split()), tuple(map(tuple, rows)), caption)


def columns(given: Mapping[str, Any]) -> Numbers:
    """Returns a table of columns, given by name; all must have the same length."""
    cells = zip(*(np.asarray(column).tolist() for column in given.values()), strict=True)
    return Numbers(tuple(given), tuple(cells))


def published(table: str) -> Numbers:
    """Returns a paper's table as printed; `table` names its file. An empty cell is None."""
    text = (files("figures") / "papers" / f"{table}.csv").read_text(encoding="utf-8")
    names, *rows = csv.reader(text.splitlines())
    cells = zip(*map(_values, zip(*rows, strict=True)), strict=True)
    return Numbers(tuple(names), tuple(cells))


def _values(column: Sequence[str]) -> list[Any]:
    """Returns a column's cells, as integers or floats if all cells are such numbers."""
    for number in (int, float):
        with suppress(ValueError):
            return [number(cell) if cell else None for cell in column]
    return [cell or None for cell in column]


def published_grid(table: str) -> dict[str, dict[str, Any]]:
    """Returns a paper's table as {first cell of the row: {column name: cell}}."""
    printed = published(table)
    return {
        name: dict(zip(printed.names[1:], cells, strict=True)) for name, *cells in printed.cells
    }


def results(name: str) -> Any:
    """Returns the content of a file in figures/results, its JSON objects as namespaces."""
    text = (files("figures") / "results" / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text, object_hook=lambda fields: SimpleNamespace(**fields))
