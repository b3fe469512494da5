"""The tables of Kim et al. 2023 (BiLD): the paper's lines, and ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from figures import drawing
from figures.bild.sweeps import SOURCE, MeasuredSweep, measured
from figures.numbers import Numbers, numbers, published
from studies.bild.swept import NO_LOSS, BildRow

Method = tuple[str, BildRow | None]
"""The name of a line, and our row; None if no row qualifies."""


def lines_of(table: str, ours: Callable[[MeasuredSweep], Iterable[Method]]) -> Numbers:
    """Returns the lines that the paper prints in a table, then our lines for every sweep.

    A line has a method's quality (BLEU or ROUGE-L in the paper, the sweep's metric in ours), its
    speed-up over the large model with our interval over prompts, and calls in per cent of the
    emitted tokens, each None if not known. The setting is our thresholds, or γ.

    ours: returns a sweep's methods; none for sweeps that do not belong in the table.
    """
    paper = (
        (
            *("paper", line.dataset, line.method, line.quality, line.speedup, None, None),
            *(vars(line).get(f"{call}_percent") for call in ("fallback", "rollback")),
            "",
        )
        for line in published(table)
    )
    own = (measured_line(sweep, *method) for sweep in measured() for method in ours(sweep))
    names = "whose dataset method quality speedup low high fallback_percent rollback_percent"
    return numbers(f"{names} setting", [*paper, *own])


def measured_line(sweep: MeasuredSweep, method: str, row: BildRow | None) -> tuple[Any, ...]:
    """Returns one of our lines; without numbers if there is no row."""
    named = ("ours", sweep.task, method)
    if row is None:
        return *named, *[None] * 6, ""
    return (
        *(*named, sweep.score(row), row.measured, row.measured_low, row.measured_high),
        *(row.fallback_percent, row.rollback_percent, setting_of(row)),
    )


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
    return [
        ("vanilla", sweep.large),
        ("BiLD", max(sweep.of("bild"), key=sweep.score)),
        ("BiLD, no loss", sweep.fastest("bild", loss=NO_LOSS)),
        ("BiLD, 1 point", sweep.fastest("bild", loss=1.0)),
    ]


def draw_lines(
    lines: Numbers, *, title: str, paper: str, ours: str, percentages: bool = False
) -> drawing.Figure:
    """Returns a table with a row for each data set and a column for each method.

    paper, ours: the last part of the source: the paper's table, and a remark about ours.
    percentages: whether cells include fallback and rollback percentages.
    """
    methods = lines.distinct("method")
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        texts = rows.setdefault(f"{line.dataset}, {line.whose}", {})
        texts[line.method] = cell(line, percentages=percentages)
    cells = [(name, *(of.get(method, "–") for method in methods)) for name, of in rows.items()]
    heading = ("", *methods)
    widths = [3.0 + max(map(len, column)) for column in zip(heading, *cells, strict=True)]
    metrics = "BLEU of translation and spelling, agreement with the large model (%) of code"
    return drawing.draw_table(
        title,
        source=f"Kim et al. 2023 (BiLD), {paper}; {SOURCE}: {metrics}; {ours}",
        heading=heading,
        cells=cells,
        widths=widths,
        size=(max(7.2, 0.082 * sum(widths)), 1.2 + 0.33 * (len(cells) + 1)),
    )


def cell(line: Any, *, percentages: bool) -> str:
    """Returns quality, speed-up and interval; fallback and rollback percentages if requested."""
    if line.quality is None or line.speedup is None:
        return "none"
    text = f"{line.quality:.2f}  {line.speedup:.2f}×"
    if line.low is not None and line.high is not None and line.low < line.high:
        text += f" [{line.low:.2f}, {line.high:.2f}]"
    if percentages and line.fallback_percent is not None and line.rollback_percent is not None:
        text += f"  {line.fallback_percent:.1f} / {line.rollback_percent:.1f} %"
    return text


def _table(
    name: str, methods: Callable[[MeasuredSweep], Iterable[Method]], **shown: Any
) -> tuple[Callable[[], Numbers], Callable[[Numbers], drawing.Figure]]:
    return partial(lines_of, name, methods), partial(draw_lines, **shown)


FIGURES: drawing.Declared = {
    "bild-table1": _table(
        "bild-table1",
        by_loss,
        title="Quality and speed-up of BiLD without loss and with one point lost",
        paper="Table 1: BLEU or ROUGE-L on a T4",
        ours=f"no loss: at most {NO_LOSS} points",
    ),
    "bild-table3": _table(
        "bild-table3",
        by_method,
        title="BiLD where it is as fast as speculative decoding, and where it is as good",
        paper="Table 3: BLEU or ROUGE-L on a T4",
        ours="rejection sampling: strict, at its fastest γ",
    ),
    "bild-table4": _table(
        "bild-table4",
        by_calls,
        title="Quality, speed-up, and large calls / rollbacks in per cent of the tokens",
        paper="Table 4, whose percentages it does not define",
        ours=f"BiLD: its fastest that loses at most {NO_LOSS} points; of ours, "
        "rollbacks of rejection sampling are at most so many (docs/bild.md)",
        percentages=True,
    ),
    "bild-table5": _table(
        "bild-table5",
        by_nucleus,
        title="BiLD with nucleus sampling, p = 0.8",
        paper="Table 5: BLEU or ROUGE-L on a T4",
        ours="the first BiLD is ours of the best quality",
    ),
}
