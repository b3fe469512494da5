"""The list of figures: what it names, and what it takes to list and to compute them."""

import subprocess
import sys

import pytest

from figures.registry import FIGURES, find_figure
from figures.tables import TABLES

NAMES = {
    "leviathan": ["fig2", "fig3", "fig4", "fig5", "table1", "table3", "table4", "table5"],
    "bild": [*(f"fig{n}" for n in (2, 4, 5, 8, 10)), *(f"table{n}" for n in (1, 3, 4, 5))],
    "blockwise": [
        *(f"fig{n}" for n in (2, 3, 6, 7)),
        *(f"table{n}" for n in (3, 4, 5, 8, 9, 10, 11, 12, 13)),
        "traffic",
    ],
    "speedup": ["map"],
    "block": ["verification"],
    "tree": ["size"],
    "verification": ["cost"],
    "batch": ["size"],
    "predicted": ["measured"],
    "public": ["measurements"],
    "draft": ["hierarchy"],
    "confidence": ["map"],
}


def test_names_are_those_promised() -> None:
    promised = {f"{room}-{name}" for room, names in NAMES.items() for name in names}
    assert set(FIGURES) == promised | {"traffic"}
    assert set(TABLES) <= set(FIGURES)


def test_computing_is_the_same_twice() -> None:
    assert FIGURES["leviathan-fig5"].compute() == FIGURES["leviathan-fig5"].compute()


def test_listing_imports_no_figure_and_figures_neither_matplotlib_nor_torch() -> None:
    """What computes without matplotlib is shown where each figure is written."""
    script = """
import sys
import figures.registry
assert not {"numpy", "matplotlib", "scipy", "figures.leviathan.fig2"} & set(sys.modules)
sys.modules["matplotlib"] = None  # any import of it now fails
for entry in figures.registry.FIGURES.values():
    entry._made_by()
assert {"figures.leviathan.fig2", "figures.tables"} <= set(sys.modules)
assert "torch" not in sys.modules
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
