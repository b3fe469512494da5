"""The blockwise paper's tables beside what was measured: our cells are the results files' own."""

import pytest

from figures.beyond_papers import blockwise_traffic
from figures.blockwise import (
    fig2,
    fig3,
    fig6,
    fig7,
    table3,
    table4,
    table5,
    table8,
    table9,
    table10,
    table12,
    table13,
)
from figures.blockwise.measured import OURS, Grid, analysis, latencies, variants

GRIDS = (table3, table4, table5, table8, table9, table10)


@pytest.mark.parametrize("module", GRIDS, ids=lambda module: module.__name__)
def test_every_data_set_of_the_paper_has_every_column_and_so_have_we(module: object) -> None:
    data: Grid = module.compute()   # type: ignore[attr-defined]
    datasets = list(dict.fromkeys(cell.dataset for cell in data.rows))
    assert len(datasets) == 8
    assert datasets[-1] == OURS
    columns = [cell.column for cell in data.rows if cell.dataset == OURS]
    for dataset in datasets:
        assert [cell.column for cell in data.rows if cell.dataset == dataset] == columns


def test_our_block_efficiencies_lie_in_their_intervals_and_below_the_oracles() -> None:
    for data in (table4.compute(), table9.compute(), table10.compute()):
        ours = [cell for cell in data.rows if cell.dataset == OURS and cell.value is not None]
        best = variants()["oracle k=16"]["block_efficiency"]
        for cell in ours:
            assert cell.value is not None
            assert cell.low is not None
            assert cell.high is not None
            assert cell.low <= cell.value <= cell.high
            assert 1 <= cell.value <= best


def test_the_change_of_table_four_is_the_quotient_of_its_columns() -> None:
    data = table4.compute()
    base = data.ours("base").value
    for name in table4.COLUMNS[1:]:
        value, change = data.ours(name).value, variants()[name]["change_percent"]
        assert value is not None
        assert base is not None
        assert change == pytest.approx(100 * (value / base - 1))


def test_wins_ties_and_losses_are_all_blocks() -> None:
    data = table5.compute()
    shares = {(cell.dataset, cell.column): cell.value for cell in data.rows}
    for dataset in {cell.dataset for cell in data.rows}:
        parts = [shares[dataset, column] for column in ("% ties", "% wins", "% losses")]
        assert sum(part for part in parts if part is not None) == pytest.approx(100)


def test_printed_counts_are_those_of_the_papers_table_five() -> None:
    cells = {(c.dataset, c.column): c.value for c in table5.compute().rows}
    assert cells["NewsRoom", "% wins"] == pytest.approx(100 * 79710 / (251300 + 79710 + 6492))
    assert cells["NewsRoom", "wins repair"] == 66.23


def test_more_arcs_and_more_drafts_never_stand_less_far() -> None:
    ours = [row.block_efficiency for row in fig6.compute().rows if row.dataset == OURS]
    assert len(ours) == 16
    assert ours == sorted(ours)
    for way in fig7.WAYS:
        rows = [r for r in fig7.compute().rows if (r.dataset, r.way) == (OURS, way)]
        assert [row.p for row in rows] == [1, 2, 4, 8, 16]
        efficiencies = [row.block_efficiency for row in rows]
        assert efficiencies[-1] >= efficiencies[0]


def test_the_shares_of_each_heads_entropies_add_up() -> None:
    data = fig2.compute()
    for head in range(1, len(data.means) + 1):
        shares = [row.share for row in data.rows if row.head == head]
        assert sum(shares) == pytest.approx(1)


def test_every_text_is_a_point_of_figure_three() -> None:
    data = fig3.compute()
    assert len(data.rows) == analysis()["texts"]
    assert data.low is not None
    assert data.r is not None
    assert data.low < data.r


def test_times_are_the_papers_and_ours_for_the_same_lattices() -> None:
    for data, published in ((table12.compute(), table12.PUBLISHED),
                            (table13.compute(), table13.PUBLISHED)):
        sizes: dict[tuple[str, str], set[tuple[int, int, int]]] = {}
        for row in data.rows:
            size = (row.steps, row.arcs, row.paths)
            sizes.setdefault((row.source, row.ngram), set()).add(size)
        assert len(sizes) == 3
        assert len({frozenset(some) for some in sizes.values()}) == 1
        assert len(sizes["paper", "4-gram"]) == len(published)
    assert {row["order"] for row in latencies()["rows"]} == {2, 4}


def test_weights_are_read_once_a_call() -> None:
    rows = {
        row.way: row for row in blockwise_traffic.compute().rows if row.context is None
    }
    sizes = analysis()["setup"]["sizes"]
    assert rows["autoregressive"].megabytes == pytest.approx(4e-6 * sizes["target"])
    base = variants()["base"]["block_efficiency"]
    both = sizes["target"] + sizes["heads"]
    assert rows["base"].megabytes == pytest.approx(4e-6 * both / base)
