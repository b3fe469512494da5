"""The list of figures: every entry can be computed, and without matplotlib."""

import subprocess
import sys

import pytest

from figures.drawing.table import Table
from figures.registry import FIGURES, Entry, find_figure


def test_names_are_those_promised() -> None:
    assert set(FIGURES) == {
        "leviathan-fig2",
        "leviathan-fig3",
        "leviathan-fig4",
        "leviathan-fig5",
        "leviathan-table1",
        "leviathan-table3",
        "leviathan-table4",
        "leviathan-table5",
        "bild-fig2",
        "bild-fig4",
        "bild-fig5",
        "bild-fig8",
        "bild-fig10",
        "bild-table1",
        "bild-table3",
        "bild-table4",
        "bild-table5",
        *(f"blockwise-fig{number}" for number in (2, 3, 6, 7)),
        *(f"blockwise-table{number}" for number in (3, 4, 5, 8, 9, 10, 11, 12, 13)),
        "blockwise-traffic",
        "speedup-map",
        "block-verification",
        "tree-size",
        "verification-cost",
        "batch-size",
        "predicted-measured",
        "public-measurements",
    }


@pytest.mark.parametrize("entry", FIGURES.values(), ids=FIGURES)
def test_every_figure_has_numbers_and_a_source(entry: Entry) -> None:
    table = entry.compute().table()
    assert isinstance(table, Table)
    assert len(table.rows) >= 4
    assert len(set(table.columns)) == len(table.columns)
    assert entry.source == "ours" or "20" in entry.source
    assert entry.shows


def test_computing_is_the_same_twice() -> None:
    assert FIGURES["leviathan-fig5"].compute() == FIGURES["leviathan-fig5"].compute()


def test_numbers_need_no_matplotlib() -> None:
    script = """
import sys
sys.modules["matplotlib"] = None  # any import of it now fails
from figures.registry import FIGURES
for entry in FIGURES.values():
    entry.compute().table()
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_listing_imports_no_figure() -> None:
    script = """
import sys
import figures.registry
assert not {"numpy", "matplotlib", "scipy", "figures.leviathan.fig2"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("leviathan-fg3", "leviathan-fig3"),
        ("table11", "blockwise-table11"),
        ("batchsize", "batch-size"),
        ("Leviathan-Fig2", "leviathan-fig2"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(ValueError, match=f"unknown figure '{name}'; did you mean '{nearest}'"):
        find_figure(name)
