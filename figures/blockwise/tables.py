"""Kim et al. 2024 (blockwise drafts), Tables 3 to 5 and 8 to 10: the paper's rows, then ours.

Ours are measured on the embedded target: `benchmarks/blockwise_drafts.py` wrote blockwise.json.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any

import msgspec

from figures import drawing
from figures.numbers import Numbers, numbers, published, published_grid
from simulator.numerics.intervals import percent
from studies.blockwise.records import Analysis, Way

OURS = "embedded (Python)"
PAPER = "Kim et al. 2024 (blockwise drafts)"


class OwnAnalysis(Analysis, frozen=True, kw_only=True):
    """The analysis of blockwise heads on the embedded target.

    setup: models, date and other notes of the benchmark; "sizes" are each model's number of
      weights, and its number of values in the cache per token.
    """

    setup: dict[str, Any]

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
    """Returns the small print on our numbers: texts, heads, lattices and intervals."""
    ours = analysis()
    return (
        f"Ours: {ours.texts} greedy texts of {ours.tokens} tokens in all from held-out "
        f"library code, {ours.heads} heads, lattices of {ours.k} tokens a head, weights "
        f"tuned on {ours.tuning_texts} other texts; {percent(ours.confidence)} intervals over texts"
    )


def _grid(
    printed: Mapping[str, Mapping[str, Any]], ours: Mapping[str, float | Way | None]
) -> Numbers:
    """Returns a table's cells: the paper's rows, then our row, with intervals where known.

    printed: the paper's values by data set and column.
    ours: our values by column; the cell of a missing column is empty.
    """
    cells: list[tuple[Any, ...]] = [
        (dataset, column, value, None, None)
        for dataset, values in printed.items()
        for column, value in values.items()
    ]
    for column in next(iter(printed.values())):
        number = ours.get(column)
        if isinstance(number, Way):
            cells.append((OURS, column, number.block_efficiency, number.low, number.high))
        else:
            cells.append((OURS, column, number, None, None))
    return numbers("dataset column value low high", cells)


def efficiencies(table: str) -> Numbers:
    """Returns block efficiencies; each column of the table is a drafting method."""
    ours = analysis()
    ways = {way.name: way for way in (*ours.variants, *ours.oracle)}
    by_heads = {f"{way.name} heads": way for way in ours.by_heads}
    return _grid(published_grid(table), {**ways, **by_heads})


def repetition() -> Numbers:
    """Returns Table 3: repeated tokens in percent and longest runs, without and with a 2-gram."""
    base, rescored = analysis().ways["base"], analysis().ways["2-gram"]
    ours = {
        "% consecutive": base.consecutive_percent,
        "with 2-gram": rescored.consecutive_percent,
        "longest run": base.max_run,
        "run with 2-gram": rescored.max_run,
    }
    return _grid(published_grid("blockwise-table3"), ours)


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
    """Returns Table 8: each rescorer's weight that gives the largest block efficiency."""
    tuned = {name: tuning.best_weight for name, tuning in analysis().tuning.items()}
    return _grid(published_grid("blockwise-table8"), tuned)


def own(cells: Numbers, column: str) -> float:
    """Returns the value of our row in a column."""
    return float(cells.where(dataset=OURS, column=column)["value"][0])


def draw_grid(
    cells: Numbers,
    *,
    title: str | Callable[[Numbers], str],
    source: Callable[[], str],
    form: str = ".2f",
    width: float = 9.6,
) -> drawing.Figure:
    """Returns a table: the paper's rows, then our row in bold, and below it our intervals.

    title: text, or a function that returns it from the cells; form: format of the numbers.
    """
    columns = cells.distinct("column")

    def texts(values: tuple[float | None, ...]) -> list[str]:
        return ["" if value is None else f"{value:{form}}" for value in values]

    datasets = cells.distinct("dataset")
    rows = [(dataset, *texts(cells.where(dataset=dataset)["value"])) for dataset in datasets]
    ours = cells.where(dataset=OURS)
    if any(low is not None for low in ours["low"]):
        ends = zip(texts(ours["low"]), texts(ours["high"]), strict=True)
        level = f"  {percent(analysis().confidence)}"
        rows.append((level, *(f"{low} to {high}" if low else "" for low, high in ends)))
    return drawing.draw_table(
        title if isinstance(title, str) else title(cells),
        source=f"{PAPER}, {source()}",
        heading=("", *columns),
        cells=rows,
        widths=(1.5, *(1.0 for _ in columns)),
        size=(width, 1.35 + 0.27 * (len(rows) + 1)),
        marked=[(len(datasets) - 1, place) for place in range(len(columns) + 1)],
    )


def _gains(_: Numbers) -> str:
    gains = ", ".join(
        f"{way.name} {way.change_percent:+.0f} % [{way.change_low:+.0f}, {way.change_high:+.0f}]"
        for way in analysis().variants
        if way.name in ("4-gram", "neural", "parallel base", "parallel 4-gram")
    )
    return f"Block efficiency over the heads' own drafts, ours: {gains}"


def _tuning() -> str:
    reach = []
    for name in ("neural", "4-gram"):
        tried = [row.block_efficiency for row in analysis().tuning[name].rows]
        reach.append(f"{name} {min(tried):.3f} to {max(tried):.3f}")
    return (
        f"Table 8, grid 0.1 to 10 of its appendix E. Ours: on {analysis().tuning_texts} texts; "
        f"block efficiency there over the grid: {'; '.join(reach)}"
    )


def _table(
    compute: Callable[[], Numbers], **shown: Any
) -> tuple[Callable[[], Numbers], Callable[[Numbers], drawing.Figure]]:
    return compute, partial(draw_grid, **shown)


FIGURES: drawing.Declared = {
    "blockwise-table3": _table(
        repetition,
        title=lambda cells: (
            f"A 2-gram takes repetition from {own(cells, '% consecutive'):.0f} % to "
            f"{own(cells, 'with 2-gram'):.0f} % of neighbouring drafted tokens"
        ),
        source=lambda: (
            "Table 3: pairs of neighbours in a draft that are one token, and the "
            f"mean over blocks of the longest such run. {said()}"
        ),
        form=".1f",
        width=8.4,
    ),
    "blockwise-table4": _table(
        partial(efficiencies, "blockwise-table4"),
        title=_gains,
        source=lambda: (
            f"Table 4 (neural: 61M weights; parallel: 16 drafts). {said()}; "
            "neural: the embedded draft"
        ),
    ),
    "blockwise-table5": _table(
        wins,
        title=lambda cells: (
            f"Neural rescoring: {own(cells, '% wins'):.0f} % of blocks get more tokens "
            f"accepted, {own(cells, '% losses'):.0f} % fewer; "
            f"{own(cells, 'wins repair'):.0f} % of the wins end a repetition"
        ),
        source=lambda: (
            "Table 5 (61M weights), as shares of all blocks, by accepted tokens; "
            "repair: the rescored draft no longer repeats a token, regress: "
            f"it now does. {said()}; neural: the embedded draft"
        ),
        form=".1f",
    ),
    "blockwise-table8": _table(
        weights, title="The tuned weight of the rescorer", source=_tuning, form="g", width=6.4
    ),
    "blockwise-table9": _table(
        partial(efficiencies, "blockwise-table9"),
        title=lambda cells: (
            f"Block efficiency by rescorer: ours between {own(cells, 'base'):.2f} "
            f"(heads alone) and {own(cells, 'oracle k=16'):.2f} (the best path there is)"
        ),
        source=lambda: f"Table 9. {said()}; neural: the embedded draft",
        width=12.5,
    ),
    "blockwise-table10": _table(
        partial(efficiencies, "blockwise-table10"),
        title=lambda cells: (
            "Block efficiency with 3, 6 and 9 heads: ours "
            + ", ".join(f"{own(cells, f'{heads} heads'):.3f}" for heads in (3, 6, 9))
        ),
        source=lambda: (
            f"Table 10 (models trained with so many heads). {said()}; ours are "
            "the first of nine heads, trained apart from one another on a frozen model"
        ),
        form=".3f",
        width=7.6,
    ),
}
