"""Tables of numbers as CSV."""

import csv
import io
from dataclasses import dataclass

import pytest

from figures.drawing.table import Curves, FigureRows, csv_of


@dataclass(frozen=True)
class Record:
    name: str
    value: float | None


def test_csv_reads_back_exactly() -> None:
    written = [("a, b", 0.1 + 0.2), ('"quoted"', 1e-17)]
    heading, *rows = csv.reader(io.StringIO(csv_of(("name", "value"), written)))
    assert heading == ["name", "value"]
    assert [(name, float(value)) for name, value in rows] == written


def test_none_is_an_empty_cell() -> None:
    assert FigureRows((Record("a", None),)).csv() == "name,value\na,\n"


def test_records_become_columns_by_field() -> None:
    assert FigureRows((Record("a", 1.0), Record("b", 2.0))).csv() == "name,value\na,1.0\nb,2.0\n"


def test_lines_become_columns_by_name_and_must_be_as_long_as_their_axis() -> None:
    assert Curves("x", (0.0, 1.0), {"y": (2.0, 3.0)}).csv() == "x,y\n0.0,2.0\n1.0,3.0\n"
    with pytest.raises(ValueError, match="shorter"):
        Curves("x", (0.0, 1.0), {"y": (2.0,)}).csv()
