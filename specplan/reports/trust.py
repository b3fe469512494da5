"""The advice of a validation: how far to trust plans of its pair, and which K to run."""

from collections.abc import Mapping, Sequence
from typing import Any

from estimator.validation.file import ValidationRow, max_abs, mean_abs
from simulator.numerics.intervals import percent
from specplan.reports.table import interval


def trust_lines(rows: Sequence[ValidationRow], summary: Mapping[str, Any]) -> list[str]:
    """Returns how far to trust plans, and the K to run; summary: of the validation's JSON."""
    if summary.get("quiet") is False:
        return ["Measure again on a quiet machine before you trust these numbers."]
    return [_trust(rows, summary), *_fastest(rows, summary.get("precision_percent") or 0.0)]


def intervals_line(level: float) -> str:
    """Returns what each interval covers, and why their widths differ; level: confidence."""
    return (
        f"Intervals ({percent(level)}): of measured speed-ups, for other prompts, which the draft "
        "may fit better or worse; of predictions before the run, for these prompts, where only "
        "chance and the clock differ. So the first are wider, and more prompts narrow them. Errors "
        "compare both on the same prompts, so they are smaller than either suggests."
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
    speed = f"{interval(best, 'measured')} times the speed without speculation"
    if any(row.doubts and row.measured > max(best.measured, 1.0) for row in rows):
        doubted = f"The fastest row without doubt, {_at(best, rows)}, ran at {speed}"
        return [f"{doubted}; rows in doubt are faster: measure them again."]
    if best.measured <= 1:
        return [f"Do not speculate: the fastest, {_at(best, rows)}, ran at {speed}."]
    picked = max(sure, key=lambda row: row.predicted or 0.0)
    if picked.predicted is None:
        return [f"Run {_at(best, rows)}: {speed}."]
    if picked is best:
        return [f"Run {_at(best, rows)}, which was predicted to be fastest and was: {speed}."]
    loss = 100 * (best.measured / picked.measured - 1)
    compared = f"{_at(picked, rows)}, which was predicted to be fastest, is {loss:.1f} % slower"
    noisy = ", less than the timing noise: take either" * (loss <= noise)
    return [f"Run {_at(best, rows)}: {speed}; {compared}{noisy}."]


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
