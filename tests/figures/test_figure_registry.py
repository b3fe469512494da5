"""The list of figures: its names, and the imports that listing and computing need."""

import subprocess
import sys

import pytest

from figures.registry import FIGURES, find_figure

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
    "adaptive": ["verification"],
}


def test_names_are_those_promised() -> None:
    promised = {f"{room}-{name}" for room, names in NAMES.items() for name in names}
    assert set(FIGURES) == promised | {"traffic"}


def test_computing_is_the_same_twice() -> None:
    assert FIGURES["leviathan-fig5"].compute() == FIGURES["leviathan-fig5"].compute()


def test_listing_imports_no_figure_and_figures_neither_matplotlib_nor_torch() -> None:
    """The test that writes each figure shows that it is computed without matplotlib."""
    script = """
import sys
import figures.registry
assert not {"numpy", "matplotlib", "scipy", "figures.leviathan.curves"} & set(sys.modules)
sys.modules["matplotlib"] = None  # any import of it now fails
for entry in figures.registry.FIGURES.values():
    entry.declared()
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
