"""Tables: aligned columns, notes after a row, missing numbers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from specplan.reports.table import Column, bounds, fastest, ranged, shown, table

COLUMNS: list[Column[tuple[int, float]]] = [
    ("gamma", lambda row: str(row[0])),
    ("speed-up", lambda row: shown(row[1], ".1f")),
]


def test_columns_are_as_wide_as_their_widest_cell_and_stand_to_the_right() -> None:
    assert table([(10_000_000, 1.0), (2, 10.0)], COLUMNS).splitlines() == [
        "   gamma  speed-up",
        "10000000       1.0",
        "       2      10.0",
    ]


def test_a_table_of_no_rows_has_its_header() -> None:
    assert table([], COLUMNS) == "gamma  speed-up"


@pytest.mark.parametrize(("width", "gap"), [(37, "  "), (38, " "), (39, "  ")])
def test_columns_stand_closer_where_a_line_then_fits(width: int, gap: str) -> None:
    """79 characters fit; 81 become 79 with one space; 83 do not fit either way."""
    columns: list[Column[Mapping[str, int]]] = [
        ("a" * width, "{a}"),
        ("b" * width, "{b}"),
        ("c", "{c}"),
    ]
    header = table([{"a": 1, "b": 2, "c": 3}], columns).splitlines()[0]
    assert header == gap.join(["a" * width, "b" * width, "c"])


def test_the_best_row_and_noted_rows_say_so() -> None:
    lines = table(
        [(1, 1.2), (2, 1.5)],
        COLUMNS,
        best=lambda row: row[1] > 1.3,
        note=lambda row: "+" if row[0] == 2 else "",
    ).splitlines()
    assert lines[1].endswith("1.2")
    assert lines[2].endswith("1.5  <- best  +")


@pytest.mark.parametrize(("speeds", "marked"), [([0.9, 1.2, 1.2], [1]), ([0.9, 1.0], []), ([], [])])
def test_the_fastest_row_is_the_first_that_gains_most(
    speeds: list[float], marked: list[int]
) -> None:
    rows = list(enumerate(speeds))
    best = fastest(rows, lambda row: row[1])
    assert [row[0] for row in rows if best(row)] == marked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (shown(None), "-"),
        (shown(0.0), "0.00"),
        (shown(1.25, "+.1f", " %"), "+1.2 %"),
        (ranged(0.5, 0.25, 0.75), "0.50 [0.25, 0.75]"),
        (ranged(0.5, None, 0.75), "0.50"),
        (ranged(None, None, None), "-"),
        (bounds(0.0, 1.0, ".1f"), "[0.0, 1.0]"),
    ],
)
def test_missing_values_are_dashes(text: str, expected: str) -> None:
    assert text == expected
