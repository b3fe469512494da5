"""Tables of numbers: the papers' as printed, and a figure's as CSV."""

import csv
import io
from importlib.resources import files

import pytest

from figures.numbers import Numbers, columns, numbers, published, published_grid
from figures.registry import FIGURES


def test_csv_reads_back_exactly() -> None:
    written = [("a, b", 0.1 + 0.2), ('"quoted"', 1e-17)]
    heading, *rows = csv.reader(io.StringIO(numbers("name value", written).csv()))
    assert heading == ["name", "value"]
    assert [(name, float(value)) for name, value in rows] == written


def test_none_is_an_empty_cell() -> None:
    assert numbers("name value", [("a", None), ("b", 2.0)]).csv() == "name,value\na,\nb,2.0\n"


def test_columns_are_rows_by_name_and_of_one_length() -> None:
    data = columns({"x": [0.0, 1.0], "y z": (2, 3)})
    assert data == Numbers(("x", "y z"), ((0.0, 2), (1.0, 3)))
    assert data["y z"] == (2, 3)
    assert [row.x for row in data.where(x=1.0)] == [1.0]
    with pytest.raises(ValueError, match="shorter"):
        columns({"x": (0.0, 1.0), "y": (2.0,)})


def test_every_file_is_a_table_of_the_list() -> None:
    names = {path.name.removesuffix(".csv") for path in (files("figures") / "papers").iterdir()}
    assert len(names) == 17
    assert names <= set(FIGURES)


def test_an_empty_cell_is_none_and_columns_are_integers_floats_or_texts() -> None:
    assert published_grid("blockwise-table9")["LAMBADA"]["neural"] is None
    improved = [row for row in published("leviathan-table5") if row.improvement is not None]
    assert {row.draft for row in improved} == {"T5-small"}
    [first, *_] = published("leviathan-table5").cells
    assert first == ("standard", "unigram", 1.0, 0.07, None)
    assert published("leviathan-table1").cells[0] == (0.6, 2, 1.53, 1.96)
