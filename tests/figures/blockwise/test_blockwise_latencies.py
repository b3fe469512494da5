"""Kim et al. 2024, Tables 12 and 13: our times stand beside the paper's, lattice by lattice."""

from figures.blockwise import table12, table13
from figures.blockwise.measured import latencies


def test_times_are_the_papers_and_ours_for_the_same_lattices() -> None:
    for data, published in (
        (table12.compute(), table12.PUBLISHED),
        (table13.compute(), table13.PUBLISHED),
    ):
        sizes: dict[tuple[str, str], set[tuple[int, int, int]]] = {}
        for row in data.rows:
            size = (row.steps, row.arcs, row.paths)
            sizes.setdefault((row.source, row.ngram), set()).add(size)
        assert set(sizes) == {("paper", "4-gram"), ("ours", "2-gram"), ("ours", "4-gram")}
        assert len({frozenset(some) for some in sizes.values()}) == 1
        assert len(sizes["paper", "4-gram"]) == len(published)


def test_our_times_lie_in_their_intervals() -> None:
    ours = [row for row in table12.ours() if row.low is not None and row.high is not None]
    assert len(ours) == len(latencies()["rows"])
    for row in ours:
        assert row.low is not None
        assert row.high is not None
        assert 0 < row.low <= row.ms <= row.high
