"""The list of figures: its names, and the imports that listing and computing need."""

import subprocess
import sys

import pytest

from figures.registry import FIGURES, find_figure

NAMES = """
    leviathan-fig2 leviathan-fig3 leviathan-fig4 leviathan-fig5 leviathan-table1 leviathan-table3
    leviathan-table4 leviathan-table5 bild-fig2 bild-fig4 bild-fig5 bild-fig8 bild-fig10 bild-table1
    bild-table3 bild-table4 bild-table5 blockwise-fig2 blockwise-fig3 blockwise-fig6 blockwise-fig7
    blockwise-table3 blockwise-table4 blockwise-table5 blockwise-table8 blockwise-table9
    blockwise-table10 blockwise-table11 blockwise-traffic blockwise-table12 blockwise-table13
    speedup-map verification-cost batch-size traffic speeds block-verification tree-size
    draft-hierarchy confidence-map adaptive-verification public-measurements predicted-measured
"""


def test_names_are_those_promised() -> None:
    assert list(FIGURES) == NAMES.split()


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
    entry.function("compute"), entry.function("draw")
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
    with pytest.raises(ValueError, match=f"unknown figure '{name}'; did you mean {nearest}\\b"):
        find_figure(name)
