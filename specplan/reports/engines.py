"""The readable form of a validation on an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specplan.reports.output import bounds, table

HEADER = [
    "temp", "at once", "gamma", "alpha", "accepted 1st: law [95 %]", "counted [95 %]",
    "calls", "predicted", "free", "speed-up", "measured [95 %]", "ms/token", "predicted",
    "error", "as target",
]  # fmt: skip


def report(result: dict[str, Any], *, prompts: int, repeats: int) -> str:
    """Returns a table of the rows, what steps cost, and what the audit found."""
    rows = result["rows"]
    first, summary = rows[0], result["summary"]
    drafting = "argmax" if first["draft_temperature"] < first["temperature"] else "drawn"
    lines = [
        table([_cells(row) for row in rows], header=HEADER, marked=_best(rows)),
        "",
        f"{first['engine']} {first['engine_version']}, draft {first['draft']}"
        + (f" (its drafts: {drafting})" if first["temperature"] > 0 else "")
        + f"; {prompts} prompts, {repeats} runs of each; prices from as many other prompts:",
        *(_step_line(steps) for steps in result["steps"]),
        '"free": the speed-up if verifying were free and acceptances i.i.d.',
        f"Time of a token, predicted against measured: "
        f"{summary['mean_abs_time_error_percent']:.1f} % off on average, "
        f"{summary['max_abs_time_error_percent']:.1f} % at most.",
    ]
    found = [row for row in rows if not row["acceptance_explained"]]
    lines += [
        f"Audit, temperature {row['temperature']:g}, {row['concurrency']} at once, gamma "
        f"{row['gamma']}: {row['audit']}."
        for row in found
    ]
    if found:
        lines.append("Time there is predicted from the counted acceptance.")
    else:
        lines.append("Audit: the engine accepts what its models' laws allow.")
    return "\n".join(lines)


def _cells(row: dict[str, Any]) -> list[str]:
    predicted, calls = row["acceptance_predicted"][0], row["predicted_target_calls"]
    counted, same = row["acceptance_counted"][0], row["identical_to_target"]
    return [
        f"{row['temperature']:g}",
        str(row["concurrency"]),
        str(row["gamma"]),
        f"{row['alpha']:.3f}",
        f"{predicted['value']:.3f} {bounds(predicted['low'], predicted['high'], digits=3)}",
        f"{counted['value']:.3f} {bounds(counted['low'], counted['high'], digits=3)}"
        + ("" if row["acceptance_explained"] else " !"),
        str(row["target_calls"]),
        "-" if calls is None else f"{calls:.1f}",
        f"{row['predicted_theorem8']:.2f}",
        f"{row['predicted_calibrated']:.2f}",
        f"{row['measured']:.2f} {bounds(row['measured_low'], row['measured_high'], digits=2)}",
        f"{1e3 * row['seconds_per_token']:.2f}",
        f"{1e3 * row['predicted_seconds_per_token']:.2f}",
        f"{row['time_error_percent']:+.1f} %",
        "-" if same is None else "yes" if same else "NO",
    ]


def _best(rows: Sequence[dict[str, Any]]) -> list[int]:
    """Returns the index of the fastest row of each temperature and concurrency, if it gains."""
    fastest: dict[tuple[float, int], int] = {}
    for index, row in enumerate(rows):
        case = (row["temperature"], row["concurrency"])
        if case not in fastest or row["measured"] > rows[fastest[case]]["measured"]:
            fastest[case] = index
    return [index for index in fastest.values() if rows[index]["measured"] > 1]


def _step_line(steps: dict[str, Any]) -> str:
    """Returns what steps cost at one temperature and concurrency."""
    priced = ", ".join(f"{gamma}: {ms:.2f}" for gamma, ms in steps["step_ms"].items())
    form = "a line"
    if steps["line_error_percent"] is not None:
        form = f"a line misses the middle one by {steps['line_error_percent']:+.1f} %"
        form += "" if steps["line"] else ", which therefore counts"
    return (
        f"  temperature {steps['temperature']:g}, {steps['concurrency']} at once: target alone "
        f"{steps['baseline_ms']:.2f} ms a token; a step in ms by gamma {priced} ({form})"
    )
