"""The papers' numbers: a CSV file for each table in figures/papers, as printed."""

import csv
from dataclasses import dataclass
from importlib.resources import files
from typing import TypeVar

import msgspec

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class LeviathanTable1:
    """Operations and speed over standard decoding at c = ĉ = 0."""

    alpha: float
    gamma: int
    operations: float
    speed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeviathanTable3:
    """α of one draft for one target at one temperature; source: "published" or "measured"."""

    source: str = "published"
    target: str
    draft: str
    temperature: float
    alpha: float


@dataclass(frozen=True, slots=True)
class LeviathanTable4:
    """Expected and measured speed-up of one draft of T5-XXL."""

    task: str
    draft: str
    temperature: int
    gamma: int
    alpha: float
    c: float
    expected: float
    empirical: float


@dataclass(frozen=True, slots=True)
class LeviathanTable5:
    """α under lenience; improvement: T5-small's speed-up, from the text of §A.5; None elsewhere."""

    sampling: str
    draft: str
    lenience: float
    alpha: float
    improvement: float | None = None


def published(table: str, record: type[Record]) -> tuple[Record, ...]:
    """Returns the rows of a paper's table, by the name of its file.

    record: class of a row; its fields are the file's columns. An empty cell takes the default.
    """
    return tuple(
        msgspec.convert({name: cell for name, cell in row.items() if cell}, record, strict=False)
        for row in _rows(table)
    )


def published_grid(table: str) -> dict[str, dict[str, float | None]]:
    """Returns a table whose first column names its rows, by row and column; None: empty cell."""
    return {
        next(iter(row.values())): {
            column: float(cell) if cell else None for column, cell in list(row.items())[1:]
        }
        for row in _rows(table)
    }


def _rows(table: str) -> list[dict[str, str]]:
    text = (files("figures") / "papers" / f"{table}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
