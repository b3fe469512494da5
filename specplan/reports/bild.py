"""The readable form of a BiLD sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.numerics.intervals import percent
from specplan.reports.output import folded
from specplan.reports.table import MS, TOKENS, Column, ranged, shown, table
from specplan.reports.validation import doubt_mark, precision_lines, shares

if TYPE_CHECKING:
    from estimator.timing.threads import Threads
    from studies.bild.swept import BildRow, Sweep


def report(sweeps: Sequence[Sweep], threads: Threads) -> str:
    """Returns a table for each draft and temperature, with its best rows."""
    from studies.bild.swept import fewest_repeats, worst_precision

    parts = ["\n".join(_sweep_lines(sweep)) for sweep in sweeps]
    parts += [
        f"In doubt: {row.decoder}: {'; '.join(row.doubts)}."
        for sweep in sweeps
        for row in sweep.rows
        if row.doubts
    ]
    parts.append(
        "Speed-ups are of decoding, per token, over the large model without a draft; "
        f"{sweeps[0].prompts} prompts, the median of {fewest_repeats(sweeps)} timings, by "
        f"{threads.sentence} "
        "BiLD is lossy: it changes the large model's output distribution."
    )
    parts += map(folded, precision_lines(worst_precision(sweeps)))
    return "\n\n".join(parts)


def _sweep_lines(sweep: Sweep) -> list[str]:
    """Returns the table of one draft at one temperature, with its best rows."""
    large = sweep.large
    lines = [
        f"{large.draft}, temperature {large.temperature:g}; quality: {sweep.metric}, per cent; "
        f"c = {sweep.c:.3f}",
        table(sweep.rows, _columns(sweep.metric), note=_note),
        "",
        f"At most 0.1 points lost: {', '.join(_best(sweep, 0.1))}.",
        f"At most 1 point lost: {', '.join(_best(sweep, 1.0))}.",
    ]
    error = sweep.mean_error("time_error_percent", "bild", "window")
    if error is not None:
        lines.append(_prediction(sweep, error))
    return lines


def _note(row: BildRow) -> str:
    return doubt_mark(row) or ("<- front" if row.pareto else "")


def _prediction(sweep: Sweep, error: float) -> str:
    """Returns a sentence about the mean error of predicted latencies."""
    bild, window = (sweep.mean_error("time_error_percent", name) for name in ("bild", "window"))
    apart = "" if window is None else f" (bild {bild:.1f}, window {window:.1f})"
    return (
        f"Predicted latency: {error:.1f} % off on average{apart}; "
        f"the baseline against itself: {sweep.noise_percent:.1f} %."
    )


def _best(sweep: Sweep, loss: float) -> list[str]:
    """Returns each decoder's fastest row that loses at most `loss` points of quality."""
    tried = [name for name in ("bild", "window", "strict", "lenient") if sweep.of(name)]
    return [f"{name} {_speed_up(sweep.fastest(name, loss=loss))}" for name in tried]


def _speed_up(row: BildRow | None) -> str:
    if row is None:
        return "none"
    return ranged(row.measured, row.measured_low, row.measured_high)


def _rollback(row: BildRow) -> str:
    is_bild = row.decoder in ("bild", "window")
    return "inf" if is_bild and row.rollback is None else shown(row.rollback, "g")


def _columns(metric: str) -> list[Column[BildRow]]:
    return [
        Column("decoder", lambda row: row.decoder),
        Column("fallback", lambda row: shown(row.fallback, "g")),
        Column("rollback", _rollback),
        Column("most", lambda row: shown(row.most, "d")),
        Column("quality", lambda row: f"{row.quality[metric]:.2f}"),
        Column(f"speed-up [{percent()}]", _speed_up),
        Column("predicted", lambda row: shown(row.predicted)),
        Column("error", lambda row: shown(row.error_percent, "+.1f", " %")),
        Column(MS, lambda row: shown(row.ms_per_token)),
        Column(TOKENS, lambda row: shown(row.tokens_per_second, ".1f")),
        Column("fallback %", lambda row: f"{row.fallback_percent:.1f}"),
        Column("rollback %", lambda row: f"{row.rollback_percent:.1f}"),
        Column("discarded", lambda row: str(row.discarded)),
        Column("small/large/other", shares),
    ]
