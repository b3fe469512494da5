"""Tables of numbers as CSV."""

import csv
import io
from dataclasses import dataclass

import pytest

from figures.drawing.table import Table, table_of


@dataclass(frozen=True)
class Record:
    name: str
    value: float | None


def test_csv_reads_back_exactly() -> None:
    table = Table(("name", "value"), (("a, b", 0.1 + 0.2), ('"quoted"', 1e-17)))
    rows = list(csv.reader(io.StringIO(table.csv())))
    assert rows[0] == ["name", "value"]
    assert [(name, float(value)) for name, value in rows[1:]] == list(table.rows)


def test_none_is_an_empty_cell() -> None:
    assert table_of([Record("a", None)]).csv() == "name,value\na,\n"


def test_records_become_columns_by_field() -> None:
    table = table_of([Record("a", 1.0), Record("b", 2.0)])
    assert table.columns == ("name", "value")
    assert table.rows == (("a", 1.0), ("b", 2.0))


def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="row must have 2 cells, got 1"):
        Table(("a", "b"), ((1,),))
