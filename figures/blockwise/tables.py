"""Kim et al. 2024 (blockwise drafts), Tables 3 to 5 and 8 to 10: the paper's rows, then ours.

Ours are measured on the embedded target: `benchmarks/blockwise_drafts.py` wrote blockwise.json.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from figures import drawing
from figures.numbers import Numbers, numbers, published, published_grid
from simulator.numerics.intervals import percent
from studies.blockwise.records import Analysis, Way

OURS = "embedded (Python)"


class OwnAnalysis(Analysis, frozen=True, kw_only=True):
    """The recorded analysis of blockwise heads on the embedded target.

    setup: models, date and other notes of the benchmark; "sizes" are each model's number of
      weights, and its number of cached values per token.
    """

    setup: dict[str, Any]


@cache
def analysis() -> OwnAnalysis:
    """Returns the recorded output of `specplan heads analyse` for the embedded target."""
    content = (files("figures") / "results" / "blockwise.json").read_bytes()
    return msgspec.json.decode(content, type=OwnAnalysis)


def our_setup() -> str:
    """Returns the small print on our numbers: texts, heads, lattices and intervals."""
    ours = analysis()
    return (
        f"Ours: {ours.texts} greedy texts of {ours.tokens} tokens in all from held-out "
        f"library code, {ours.heads} heads, lattices of {ours.k} tokens a head, weights "
        f"tuned on {ours.tuning_texts} other texts; {percent(ours.confidence)} intervals over texts"
    )


def compute_grid(table: str) -> Numbers:
    """Returns a table's cells: the paper's rows, then our row, with intervals where known.

    Columns of Tables 4, 9 and 10 are drafting methods, and their cells block efficiencies. Table 3:
    repeated tokens in per cent, and longest runs. Table 5: ties, wins and losses in % of blocks,
    and how many of them repair or regress (`Wins`). Table 8: each rescorer's best weight.

    table: the paper's table, for example "blockwise-table4".
    """
    result, printed = analysis(), published_grid(table)
    ours: dict[str, Any] = {way.name: way for way in (*result.variants, *result.oracle)}
    match table:
        case "blockwise-table3":
            base, rescored = ours["base"], ours["2-gram"]
            ours = {
                "% consecutive": base.consecutive_percent,
                "with 2-gram": rescored.consecutive_percent,
                "longest run": base.max_run,
                "run with 2-gram": rescored.max_run,
            }
        case "blockwise-table5":
            printed = {row.dataset: _shares(row) for row in published(table)}
            ours = _shares(result.wins["neural"])
        case "blockwise-table8":
            ours = {name: tuning.best_weight for name, tuning in result.tuning.items()}
        case "blockwise-table10":
            ours = {f"{way.name} heads": way for way in result.by_heads}
    cells: list[tuple[Any, ...]] = [
        (dataset, column, value, None, None)
        for dataset, values in printed.items()
        for column, value in values.items()
    ]
    for column in next(iter(printed.values())):
        measured = ours.get(column)
        way = (
            (measured.block_efficiency, measured.low, measured.high)
            if isinstance(measured, Way)
            else None
        )
        cells.append((OURS, column, *(way or (measured, None, None))))
    return numbers("dataset column value low high", cells)


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


def own(cells: Numbers) -> dict[str, float]:
    """Returns the values of our row by column."""
    return {cell.column: cell.value for cell in cells.where(dataset=OURS)}


def draw_grid(cells: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws a table: the paper's rows, then our row in bold, and below it our intervals."""
    columns, datasets, ours = cells.distinct("column"), cells.distinct("dataset"), own(cells)

    def texts(values: tuple[float | None, ...]) -> list[str]:
        return ["" if value is None else f"{value:{caption.form}}" for value in values]

    rows = [(dataset, *texts(cells.where(dataset=dataset)["value"])) for dataset in datasets]
    lows, highs = (texts(cells.where(dataset=OURS)[end]) for end in ("low", "high"))
    if any(lows):
        ends = (f"{low} to {high}" if low else "" for low, high in zip(lows, highs, strict=True))
        rows.append((f"  {percent(analysis().confidence)}", *ends))
    width, height = caption.size
    return caption.table(
        rows,
        columns={"": 1.5, **dict.fromkeys(columns, 1.0)},
        size=(width, height + 0.27 * (len(rows) + 1)),
        marked=[(len(datasets) - 1, place) for place in range(len(columns) + 1)],
        own=ours,
        setup=our_setup(),
        gains=_gains(),
        tuning_texts=analysis().tuning_texts,
        tuned=_tuning(),
    )


def _gains() -> str:
    return ", ".join(
        f"{way.name} {way.change_percent:+.0f} % [{way.change_low:+.0f}, {way.change_high:+.0f}]"
        for way in analysis().variants
        if way.name in ("4-gram", "neural", "parallel base", "parallel 4-gram")
    )


def _tuning() -> str:
    reach = []
    for name in ("neural", "4-gram"):
        tried = [row.block_efficiency for row in analysis().tuning[name].rows]
        reach.append(f"{name} {min(tried):.3f} to {max(tried):.3f}")
    return "; ".join(reach)
