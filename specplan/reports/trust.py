"""The advice of a validation: how far to trust plans of its pair, and which K to run."""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import numpy as np

from estimator.intervals import chance_above
from estimator.validation.file import ValidationRow, max_abs, mean_abs
from simulator.choice.odds import gain_text, percentage
from simulator.numerics.intervals import percent


def trust_lines(rows: Sequence[ValidationRow], summary: Mapping[str, Any]) -> list[str]:
    """Returns the K to run, how sure it is, and how far to trust plans.

    summary: the summary in the validation's JSON.
    """
    if summary.get("quiet") is False:
        return ["Measure again on a quiet machine before you trust these numbers."]
    return [*_fastest(rows, summary.get("precision_percent") or 0.0), _trust(rows, summary)]


def intervals_line(level: float) -> str:
    """Returns what each interval covers, and why their widths differ; level: confidence."""
    return (
        f"Intervals ({percent(level)}). Measured: where the speed-up of other prompts may lie, "
        "which the draft may fit better or worse; more prompts narrow it. Before the run: where "
        "the measurement of these prompts may lie, by chance and the clock. Errors compare both on "
        "the same prompts, so they are smaller than the intervals suggest."
    )


def _trust(rows: Sequence[ValidationRow], summary: Mapping[str, Any]) -> str:
    errors = [row.error_percent for row in rows if not row.doubts]
    mean, most = mean_abs(errors), max_abs(errors)
    noise = summary.get("precision_percent")
    if all(row.doubts for row in rows):
        return "Measure again on a quiet machine: all times are in doubt."
    if mean is None or most is None:
        return "No speed-up was predicted: take the measured ones."
    errors_text = f"predicted speed-ups were {mean:.1f} % off on average, {most:.1f} % at most"
    reach = f"{max(most, noise or 0.0):.1f} % on the same prompts"
    within = f"Trust plans of this target and draft within {reach}: {errors_text}"
    if noise is None:
        return f"{within}. Timing noise is not known: repeat the runs to learn it."
    if most <= noise:
        return f"{within}, and the timing noise is ± {noise:.1f} %."
    return (
        f"{within}, more than the timing noise of ± {noise:.1f} %: run a K before you rely on it."
    )


def _fastest(rows: Sequence[ValidationRow], noise: float) -> list[str]:
    """Returns a sentence on the fastest setting; noise: timing noise of a speed-up in per cent."""
    sure = [row for row in rows if not row.doubts]
    if not sure:
        return []
    best = max(sure, key=lambda row: row.measured)
    speed = f"{best.measured:.2f} times the speed without speculation"
    if best.measured_low is not None and best.measured_high is not None:
        speed += f" ({percent()}: {best.measured_low:.2f} to {best.measured_high:.2f})"
    if any(row.doubts and row.measured > max(best.measured, 1.0) for row in rows):
        doubted = f"The fastest row without doubt, {_at(best, rows)}, ran at {speed}"
        return [f"{doubted}; rows in doubt are faster: measure them again."]
    if best.measured <= 1:
        return [f"Do not speculate: the fastest, {_at(best, rows)}, ran at {speed}."]
    picked = max(sure, key=lambda row: row.predicted or 0.0)
    odds = _odds(best, rows)
    if picked.predicted is None:
        return [f"Run {_at(best, rows)}: {speed}.", *odds]
    if picked is best:
        said = f"Run {_at(best, rows)}, which was predicted to be fastest and was: {speed}."
        return [said, *odds]
    loss = 100 * (best.measured / picked.measured - 1)
    compared = f"{_at(picked, rows)}, which was predicted to be fastest, is {loss:.1f} % slower"
    noisy = ", less than the timing noise: take either" * (loss <= noise)
    return [f"Run {_at(best, rows)}: {speed}; {compared}{noisy}.", *odds]


def _odds(best: ValidationRow, rows: Sequence[ValidationRow]) -> list[str]:
    """Returns the odds of a gain, and against the next best row, over other prompts.

    Rows are paired by prompt. [] without several prompts.
    """
    gain = chance_above(log(best.measured), np.log(best.measured_left_out))
    if gain is None:
        return []
    lines, prompts = [gain_text(gain)], len(best.measured_left_out)
    rivals = [
        row
        for row in rows
        if row is not best
        and not row.doubts
        and (row.temperature, row.prompts_hash) == (best.temperature, best.prompts_hash)
        and len(row.measured_left_out) == prompts
    ]
    if not rivals:
        return lines
    rival = max(rivals, key=lambda row: row.measured)
    without = np.log(best.measured_left_out) - np.log(rival.measured_left_out)
    faster = chance_above(log(best.measured / rival.measured), without)
    lines.append(
        f"{_at(best, rows)} is faster than {_at(rival, rows)}, the next best, with a probability "
        f"of {percentage(faster)} ({best.measured:.2f} against {rival.measured:.2f} times; the "
        f"{prompts} prompts are paired)."
    )
    return [" ".join(lines)]


def _at(row: ValidationRow, rows: Sequence[ValidationRow]) -> str:
    """Returns the policy or K of a row, with draft and temperature if rows differ in them."""
    named = row.policy if row.gamma is None else f"K = {row.gamma}"
    if len({(other.draft, other.temperature) for other in rows}) == 1:
        return named
    return f"{named} of {row.draft} at temperature {row.temperature:g}"


def noise_line(summary: Mapping[str, Any]) -> list[str]:
    """Returns a sentence on the noise of the clock; [] if it is not known."""
    noise, apart = summary.get("precision_percent"), summary.get("noise_percent")
    parts = [f"± {noise:.1f} % ({percent()}) in the noisiest row"] if noise is not None else []
    if apart is not None:
        within = f"{percent()}: at most {summary['noise_within_percent']:.1f} %"
        parts.append(f"the baseline timed twice differs by {apart:.1f} % ({within})")
    more = ". --time-limit and --repeats allow more timing."
    return [f"Timing noise: {'; '.join(parts)}{more}"] * bool(parts)
