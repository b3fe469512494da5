"""The runs of `specplan tune` as lines, text and JSON."""

from collections.abc import Callable
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
    """Returns the line to print after a run.

    row: the run; a text: the line is the text and the table's heading; None: no run is finished, so
      the line is a forecast.
    """
    if row is None:
        return f"Expected at {now.load.batch} at once: {_best(now, now.advice.named)}."
    if isinstance(row, str):
        return f"{row}\n{_HEAD}"
    time, length = shown(row.ms_per_token), shown(row.block_efficiency)
    best = row.note or _best(now, now.best_run)
    return _LINE.format(row.concurrency, _setting(row), time, length, _expected(row), best)


def _setting(row: TunedRun | Advised) -> str:
    return f"{row.gamma} p_min {row.p_min:g}" if row.p_min else str(row.gamma)


def _expected(row: TunedRun) -> str:
    return interval(row, "expected_ms_per_token")


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
        (f"expected [{percent()}]", _expected),
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
    best = {each.concurrency: each for each in tuned.advised}

    def of_best(cell: Callable[[Advised], str]) -> Callable[[TunedRun], str]:
        """Returns a function that fills the cell of the advised γ's row; other rows get a dash."""
        return lambda run: (
            cell(best[run.concurrency]) if run.gamma == best[run.concurrency].gamma else "-"
        )

    columns: list[Column[TunedRun]] = [
        ("at once", "{concurrency}"),
        (GAMMA, "{gamma}"),
        (f"times the baseline [{percent()}]", of_best(_gain)),
        ("odds of a gain", of_best(lambda own: shown(own.gain_probability, ".0%"))),
        (f"{MS} [{percent()}]", _expected),
    ]
    return table([run for run in tuned.rows if not run.measured and not run.note], columns)


def _gain(each: Advised) -> str:
    return interval(each, "improvement_factor")


def _advised(each: Advised) -> str:
    odds = "" if each.gain_probability is None else f", odds of a gain {each.gain_probability:.0%}"
    if each.gamma == 0:
        return f"{each.concurrency} at once: do not speculate{odds}."
    time = "" if each.ms_per_token is None else f", {each.ms_per_token:.2f} ms a token"
    gains = f"{_gain(each)} times the baseline{time}{odds}."
    return f"{each.concurrency} at once: gamma {_setting(each)}, {gains}"


def tuned_data(tuned: Tuned) -> dict[str, Any]:
    """Returns a tuning as a JSON object, without the single timings of each run."""
    data: dict[str, Any] = builtins(tuned)
    for run in data["rows"]:
        del run["turns"]
    return data
