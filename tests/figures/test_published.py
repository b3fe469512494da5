"""The papers' numbers as they are read from their files."""

from importlib.resources import files

from figures.published import LeviathanTable5, published, published_grid
from figures.registry import FIGURES


def test_every_file_is_a_table_of_the_list() -> None:
    names = {path.name.removesuffix(".csv") for path in (files("figures") / "papers").iterdir()}
    assert len(names) == 17
    assert names <= set(FIGURES)


def test_an_empty_cell_is_none() -> None:
    assert published_grid("blockwise-table9")["LAMBADA"]["neural"] is None
    rows = published("leviathan-table5", LeviathanTable5)
    assert {row.draft for row in rows if row.improvement is not None} == {"T5-small"}
