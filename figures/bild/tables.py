"""The tables of Kim et al. 2023 (BiLD): the paper's lines, ours, and their cells."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from figures.bild.measured import MeasuredSweep, measured
from figures.drawing.table import Layout
from figures.published import published
from studies.bild.swept import NO_LOSS, BildRow

PAPER, OURS = "paper", "ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLine:
    """One method on one data set.

    whose: "paper" or "ours".
    quality: BLEU or ROUGE-L in the paper, the sweep's metric in ours; None if no row qualifies.
    speedup: speed-up over the large model.
    low, high: interval of our speed-up over prompts.
    fallback_percent, rollback_percent: percentages of emitted tokens; None if the paper has none.
    setting: our thresholds, or γ.
    """

    whose: str = PAPER
    dataset: str
    method: str
    quality: float | None = None
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    fallback_percent: float | None = None
    rollback_percent: float | None = None
    setting: str = ""


Method = tuple[str, BildRow | None]
"""The name of a line, and our row; None if no row qualifies."""


def lines_of(table: str, ours: Callable[[MeasuredSweep], Iterable[Method]]) -> list[TableLine]:
    """Returns the lines that the paper prints in a table, then our lines for every sweep.

    table: name of the file with the paper's numbers.
    ours: returns a sweep's methods; none for sweeps that do not belong in the table.
    """
    own = (measured_line(sweep, *method) for sweep in measured() for method in ours(sweep))
    return [*published(table, TableLine), *own]


def measured_line(sweep: MeasuredSweep, method: str, row: BildRow | None) -> TableLine:
    """Returns one of our lines; without numbers if there is no row."""
    named = TableLine(whose=OURS, dataset=sweep.task, method=method)
    if row is None:
        return named
    return replace(
        named, quality=sweep.score(row), speedup=row.measured, low=row.measured_low,
        high=row.measured_high, fallback_percent=row.fallback_percent,
        rollback_percent=row.rollback_percent,
        setting=setting_of(row),
    )  # fmt: skip


def setting_of(row: BildRow) -> str:
    """Returns BiLD's thresholds, or the γ of speculative decoding, in words."""
    if row.decoder in ("bild", "window"):
        rollback = "∞" if row.rollback is None else f"{row.rollback:g}"
        return f"α_FB {row.fallback:g}, α_RB {rollback}"
    return "" if row.most is None else f"{row.decoder}, γ = {row.most}"


def by_loss(sweep: MeasuredSweep) -> list[Method]:
    """Returns the methods of Table 1: vanilla once per task, then the fastest row at each loss."""
    if sweep.sampling != "greedy":
        return []
    return [
        *([("vanilla", sweep.large)] if sweep.draft == "unaligned" else []),
        (f"{sweep.draft}, no loss", sweep.fastest("bild", loss=NO_LOSS)),
        (f"{sweep.draft}, 1 point", sweep.fastest("bild", loss=1.0)),
    ]


def by_method(sweep: MeasuredSweep) -> list[Method]:
    """Returns the methods of Table 3: speculative decoding, and BiLD at its speed or quality."""
    if not sweep.is_plain:
        return []
    strict, bild = sweep.fastest_strict, sweep.of("bild")
    as_fast = [row for row in bild if row.measured >= strict.measured]
    as_good = [row for row in bild if sweep.score(row) >= sweep.score(strict)]
    return [
        ("vanilla", sweep.large),
        ("rejection sampling", strict),
        ("BiLD, its latency", max(as_fast, key=sweep.score, default=None)),
        ("BiLD, its quality", max(as_good, key=lambda row: row.measured, default=None)),
    ]


def by_calls(sweep: MeasuredSweep) -> list[Method]:
    """Returns the methods of Table 4: strict at its best γ, and BiLD's fastest without loss."""
    if not sweep.is_plain:
        return []
    fastest = sweep.fastest("bild", loss=NO_LOSS)
    return [("rejection sampling", sweep.fastest_strict), ("BiLD", fastest)]


def by_nucleus(sweep: MeasuredSweep) -> list[Method]:
    """Returns the operating points of Table 5: the best, without loss, with one point lost."""
    if sweep.sampling != "nucleus 0.8":
        return []
    bild = sweep.of("bild")
    return [
        ("vanilla", sweep.large),
        ("BiLD", max(bild, key=sweep.score)),
        ("BiLD, no loss", sweep.fastest("bild", loss=NO_LOSS)),
        ("BiLD, 1 point", sweep.fastest("bild", loss=1.0)),
    ]


def lay_lines(lines: Sequence[TableLine], *, percentages: bool = False) -> Layout:
    """Returns cells with a row for each data set and a column for each method.

    lines: at least one.
    percentages: whether cells include fallback and rollback percentages.
    """
    datasets = dict.fromkeys((line.whose, line.dataset) for line in lines)
    methods = list(dict.fromkeys(line.method for line in lines))
    text = {
        (line.whose, line.dataset, line.method): cell(line, percentages=percentages)
        for line in lines
    }
    cells = tuple(
        (f"{dataset}, {whose}", *(text.get((whose, dataset, method), "–") for method in methods))
        for whose, dataset in datasets
    )
    columns = ("", *methods)
    widths = tuple(3.0 + max(map(len, column)) for column in zip(columns, *cells, strict=True))
    width, height = max(7.2, 0.082 * sum(widths)), 1.2 + 0.33 * (len(cells) + 1)
    return Layout(columns, cells, widths, width, height)


def cell(line: TableLine, *, percentages: bool) -> str:
    """Returns quality, speed-up and interval; fallback and rollback percentages if requested."""
    if line.quality is None or line.speedup is None:
        return "none"
    text = f"{line.quality:.2f}  {line.speedup:.2f}×"
    if line.low is not None and line.high is not None and line.low < line.high:
        text += f" [{line.low:.2f}, {line.high:.2f}]"
    if percentages and line.fallback_percent is not None and line.rollback_percent is not None:
        text += f"  {line.fallback_percent:.1f} / {line.rollback_percent:.1f} %"
    return text
