"""The runs of `specplan tune` as lines, text and JSON."""

from typing import Any

from engines.tuning.outlook import Outlook
from engines.tuning.tuned import Advised, Tuned, TunedRun
from estimator.writing import builtins
from simulator.numerics.intervals import percent
from specplan.reports.table import GAMMA, MS, Column, interval, ranged, shown, table

_LINE = "{:>7}  {:>11}  {:>8}  {:>6}  {:>21}  {}"
_HEAD = _LINE.format("at once", GAMMA, MS, "length", f"expected [{percent()}]", "best so far")


def _best(now: Outlook, gamma: int) -> str:
    odds = f", odds of a gain {now.advice.gain_probability:.0%}"
    gain = f", {ranged(*now.gain(gamma))} times{odds if gamma == now.advice.named else ''}"
    return f"gamma {gamma}{gain if gamma > 0 else ', the baseline'}"


def progress_text(now: Outlook, row: TunedRun | str | None) -> str:
    """Returns the line to print after a run; before the first run, a forecast.

    row: the run; None: no run is finished; a text: print it above the table's heading.
    """
    if row is None:
        return f"Expected at {now.load.batch} at once: {_best(now, now.advice.named)}."
    if isinstance(row, str):
        return f"{row}\n{_HEAD}"
    time, length = shown(row.ms_per_token), shown(row.block_efficiency)
    expected = interval(row, "expected_ms_per_token")
    best = row.note or _best(now, now.best_run)
    return _LINE.format(row.concurrency, _setting(row), time, length, expected, best)


def _setting(row: TunedRun | Advised) -> str:
    return f"{row.gamma} p_min {row.p_min:g}" if row.p_min else str(row.gamma)


def _off(row: TunedRun) -> str:
    time, expected = row.ms_per_token, row.expected_ms_per_token
    return "-" if time is None or expected is None else f"{100 * (time / expected - 1):+.0f} %"


def tuned_text(tuned: Tuned, *, dry_run: bool) -> str:
    """Returns all runs, predicted and measured, and the advised settings as text."""
    if dry_run:
        return "\n\n".join((_planned(tuned), *tuned.notes, "Nothing ran."))
    columns: list[Column[TunedRun]] = [
        ("at once", "{concurrency}"),
        (GAMMA, _setting),
        (f"expected [{percent()}]", lambda run: interval(run, "expected_ms_per_token")),
        (MS, "{ms_per_token:.2f}"),
        ("above expected", _off),
        ("± %", "{error_percent:.1f}"),
        ("length", "{block_efficiency:.2f}"),
    ]
    parts = [table(tuned.rows, columns, note=lambda run: run.note)]
    parts.append("\n".join(map(_advised, tuned.advised)))
    if any(run.p_min for run in tuned.rows) and not any(each.p_min for each in tuned.advised):
        parts.append("No p_min gains more than its error: drafts have a fixed length.")
    if tuned.advised and tuned.next_gamma is not None and not tuned.notes:
        parts.append(f"Not decided: gamma {tuned.next_gamma} is worth a run.")
    return "\n\n".join(part for part in (*parts, *tuned.notes, tuned.flags) if part)


def _planned(tuned: Tuned) -> str:
    """Returns a table of the next runs with their predicted times and speed-ups."""
    best = {(each.concurrency, each.gamma): each for each in tuned.advised}
    rows = []
    for run in tuned.rows:
        if not run.measured and not run.note:
            own = best.get((run.concurrency, run.gamma))
            times = "-" if own is None else interval(own, "improvement_factor")
            odds = None if own is None else own.gain_probability
            rows.append({"run": run, "times": times, "odds": odds})
    columns: list[Column[dict[str, Any]]] = [
        ("at once", "{run.concurrency}"),
        (GAMMA, "{run.gamma}"),
        (f"times the baseline [{percent()}]", "{times}"),
        ("odds of a gain", "{odds:.0%}"),
        (f"{MS} [{percent()}]", lambda each: interval(each["run"], "expected_ms_per_token")),
    ]
    return table(rows, columns)


def _advised(each: Advised) -> str:
    odds = "" if each.gain_probability is None else f", odds of a gain {each.gain_probability:.0%}"
    if each.gamma == 0:
        return f"{each.concurrency} at once: do not speculate{odds}."
    time = "" if each.ms_per_token is None else f", {each.ms_per_token:.2f} ms a token"
    gain, gamma = interval(each, "improvement_factor"), _setting(each)
    return f"{each.concurrency} at once: gamma {gamma}, {gain} times the baseline{time}{odds}."


def tuned_data(tuned: Tuned) -> dict[str, Any]:
    """Returns a tuning as a JSON object, without the single timings of each run."""
    data: dict[str, Any] = builtins(tuned)
    for run in data["rows"]:
        del run["turns"]
    return data
