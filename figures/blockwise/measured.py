"""Our measurements on the embedded target, and tables of them with the paper's numbers.

`benchmarks/blockwise_drafts.py` and `benchmarks/lattice_rescoring.py` wrote the two files.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from figures.numbers import Numbers, numbers, published, published_grid
from simulator.numerics.intervals import percent
from studies.blockwise.records import Analysis, Way

OURS = "embedded (Python)"
PAPER = "Kim et al. 2024 (blockwise drafts)"


class OwnAnalysis(Analysis, frozen=True, kw_only=True):
    """The analysis of the embedded target.

    setup: the models, the date and what else the benchmark notes.
    """

    setup: dict[str, Any]

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of weights of each model, and of values per token in its cache."""
        return dict(self.setup["sizes"])

    @property
    def ways(self) -> dict[str, Way]:
        """The drafting methods by name."""
        return {way.name: way for way in self.variants}


@cache
def analysis() -> OwnAnalysis:
    """Returns the output of `specplan heads analyse` for the embedded target."""
    content = (files("figures") / "results" / "blockwise.json").read_bytes()
    return msgspec.json.decode(content, type=OwnAnalysis)


def said() -> str:
    """Returns the origin of our numbers, for the small print."""
    ours = analysis()
    return (
        f"Ours: {ours.texts} greedy texts of {ours.tokens} tokens in all from held-out "
        f"library code, {ours.heads} heads, lattices of {ours.k} tokens a head, weights "
        f"tuned on {ours.tuning_texts} other texts; {percent(ours.confidence)} intervals over texts"
    )


def _grid(
    printed: Mapping[str, Mapping[str, Any]], ours: Mapping[str, float | Way | None]
) -> Numbers:
    """Returns the cells of a table by data set and column, with intervals of ours if there are any.

    printed: the paper's numbers by data set and column.
    ours: by column; a missing column is empty.
    """
    cells: list[tuple[Any, ...]] = [
        (dataset, column, value, None, None)
        for dataset, values in printed.items()
        for column, value in values.items()
    ]
    for column in next(iter(printed.values())):
        own = ours.get(column)
        if isinstance(own, Way):
            cells.append((OURS, column, own.block_efficiency, own.low, own.high))
        else:
            cells.append((OURS, column, own, None, None))
    return numbers("dataset column value low high", cells)


def efficiencies(table: str) -> Numbers:
    """Returns a table whose columns are drafting methods."""
    ours = analysis()
    ways = ours.ways | {way.name: way for way in ours.oracle}
    by_heads = {f"{way.name} heads": way for way in ours.by_heads}
    return _grid(published_grid(table), {**ways, **by_heads})


def repetition() -> Numbers:
    """Returns Table 3: repetition in percent and run lengths, before and after a 2-gram."""
    base, rescored = analysis().ways["base"], analysis().ways["2-gram"]
    return _grid(
        published_grid("blockwise-table3"),
        {
            "% consecutive": base.consecutive_percent,
            "with 2-gram": rescored.consecutive_percent,
            "longest run": base.max_run,
            "run with 2-gram": rescored.max_run,
        },
    )


def wins() -> Numbers:
    """Returns Table 5, with ties, wins and losses as percentages of blocks."""
    printed = published("blockwise-table5")
    return _grid({row.dataset: _shares(row) for row in printed}, _shares(analysis().wins["neural"]))


def _shares(row: Any) -> dict[str, float | None]:
    whole = row.ties + row.wins + row.losses
    return {
        "% ties": 100 * row.ties / whole,
        "% wins": 100 * row.wins / whole,
        "wins repair": row.wins_repair_percent,
        "wins regress": row.wins_regress_percent,
        "% losses": 100 * row.losses / whole,
        "losses repair": row.losses_repair_percent,
        "losses regress": row.losses_regress_percent,
    }


def weights() -> Numbers:
    """Returns Table 8: the weights with the largest block efficiency."""
    tuned = {name: tuning.best_weight for name, tuning in analysis().tuning.items()}
    return _grid(published_grid("blockwise-table8"), tuned)


def own(cells: Numbers, column: str) -> float:
    """Returns our own number in a column."""
    [value] = cells.where(dataset=OURS, column=column)["value"]
    return float(value)
