"""Masks or replaces the parts of an answer that depend on a clock or a machine."""

import json
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

# Keys of JSON whose numbers depend on a clock, replaced where a later case reads them by
# `first + slope * n`, where n is the nearest enclosing key that is a whole number. Floats of a line
# differ by 0.01, so that a swap shows.
_STILL: list[tuple[Any, float, str]] = [
    (10.0, 0.5, "target_ms step_ms baseline_ms"),
    (0.0, 1, "drafting_ms"),
    (1.0, 0, "draft_ms draft_seconds"),
    (0.2, 0, "overhead_ms baseline_overhead_ms other_seconds prefill_seconds"),
    (0.1, 0, "c"),
    (20.0, 0, "prefill_ms"),
    (50.0, 0, "tokens_per_second baseline_tokens_per_second ms_per_token"),
    (2.0, 0, "verify_seconds decode_seconds seconds predicted_seconds seconds_per_token"
             " predicted_seconds_per_token"),
    (1.0, 0.1, "improvement_factor measured_low measured measured_left_out measured_high predicted"
               " predicted_theorem8 predicted_ahead_low predicted_ahead predicted_ahead_high"
               " predicted_calibrated end_to_end_predicted end_to_end_measured"
               " speedup_low speedup speedup_high"),
    (0.5, 0, "noise_percent noise_within_percent spread_percent precision_percent error_percent"
             " error_percent_low error_percent_high"
             " mean_abs_error_percent max_abs_error_percent time_error_percent"
             " mean_abs_time_error_percent max_abs_time_error_percent line_error_percent"
             " bild_mean_abs_error_percent window_mean_abs_error_percent"
             " bild_mean_abs_time_error_percent window_mean_abs_time_error_percent"),
    (2, 0, "optimal_gamma recommended_gamma"),
    (True, 0, "quiet pareto line"),
    ("2026-01-01", 0, "date"),
]  # fmt: skip
CLOCK = {
    key: (first + place / 100 if isinstance(first, float) else first, slope)
    for first, slope, keys in _STILL
    for place, key in enumerate(keys.split())
}
# Keys that the machine decides, doubts of rows, and the fastest of BiLD: masked whole.
MACHINE = frozenset({"python", "platform", "libraries", "engine_version", "best", "doubts"})
# Keys of engines for which the clock also decides which passes are timed: masked whole.
PRICED = frozenset({"target_ms", "step_ms", "drafting_ms", "improvement_factor"})
# The commands that run models against a clock. In what others print the same keys are computed.
TIMED = ("measure", "validate", "generate", "align", "heads train")

_DURATION = re.compile(r"\b\d+\.\d+(?= (?:s|ms|tokens/s)\b)")
_PROGRESS = re.compile(r"it/s\]|^[\w ]+: \d+ of \d+ .*\d s$|^\w+: .* …$")
_LONG_FLOAT = re.compile(r"-?\b\d+\.\d{6,}(?:e[-+]?\d+)?\b")


def masked(value: Any, whole: Collection[str] = MACHINE) -> Any:
    """Returns JSON in which each number of CLOCK reads "clock", and all below a key of `whole`."""
    return _walk(value, lambda key, number, leaf: "clock", whole)


def stilled(value: Any) -> Any:
    """Returns JSON with fixed made-up values at the keys of CLOCK."""

    def made_up(key: str, number: int, leaf: Any) -> Any:
        first, slope = CLOCK[key]
        return first + slope * number if slope else first

    return _walk(value, made_up, ())


def _walk(
    value: Any,
    replace: Callable[[str, int, Any], Any],
    whole: Collection[str],
    key: str = "",
    number: int = 0,
) -> Any:
    """Returns JSON with its leaves below a key of CLOCK replaced; what is null stays so."""
    if isinstance(value, dict):
        return {
            name: "masked" if name in whole else _walk(
                inner, replace, whole, key if key in CLOCK else name,
                int(name) if name.isdigit() else number,
            )
            for name, inner in value.items()
        }  # fmt: skip
    if isinstance(value, list):
        return [_walk(inner, replace, whole, key, number) for inner in value]
    return value if value is None or key not in CLOCK else replace(key, number, value)


def rounded(value: Any) -> Any:
    """Returns JSON whose floats have six significant digits, of which none is a sum's rounding."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    if isinstance(value, float):
        return 0.0 if abs(value) < 1e-9 else float(f"{value:.6g}")
    return value


def comparable(text: str, command: str) -> str:
    """Returns what a command printed, JSON or not, without clocks, places and last digits."""
    timed = any(f"specplan {name}" in command for name in TIMED)
    try:
        value = json.loads(text)
    except ValueError:
        text = _LONG_FLOAT.sub(lambda match: str(rounded(float(match[0]))), text)
        text = _DURATION.sub("CLOCK", text) if timed else text
        return text.replace(str(Path.cwd()), "ROOT").replace(str(Path.home()), "HOME")
    if timed:
        value = masked(value, MACHINE | PRICED if "--engine" in command else MACHINE)
    return json.dumps(rounded(value), indent=1, ensure_ascii=False) + "\n"


def comparable_errors(text: str, command: str) -> str:
    """Returns stderr without progress bars; for timed commands, only the error lines."""
    lines = [line for line in text.splitlines(keepends=True) if not _PROGRESS.search(line)]
    if "specplan measure" in command or "specplan validate" in command:
        lines = [line for line in lines if line.startswith("Error")]
    return comparable("".join(lines), command)
