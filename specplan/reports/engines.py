"""The readable form of a validation on an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specplan.reports.output import bounds, folded, table

COLUMNS = ["gamma", "accepted", "law", "predicted", "measured [95 %]", "error", "text"]
MORE_COLUMNS = [
    "alpha", "accepted [95 %]", "law [95 %]", "calls", "predicted", "free", "ms/token", "predicted",
]  # fmt: skip


def report(result: dict[str, Any], *, prompts: int, repeats: int, wide: bool = False) -> str:
    """Returns a table for each temperature and concurrency, what steps cost, and the audit.

    Args:
      result: as `validate --engine` writes it.
      prompts, repeats: that were run.
      wide: whether all columns are shown, beyond 80 characters.
    """
    rows = result["rows"]
    first, summary = rows[0], result["summary"]
    drafting = "argmax" if first["draft_temperature"] < first["temperature"] else "drawn"
    runs = "1 run" if repeats == 1 else f"{repeats} runs"
    lines = [
        f"{first['engine']} {first['engine_version']}, draft {first['draft']}"
        + (f" (its drafts: {drafting})" if first["temperature"] > 0 else "")
        + f"; {prompts} prompts, {runs} of each; prices from as many other prompts.",
    ]
    for steps in result["steps"]:
        case = (steps["temperature"], steps["concurrency"])
        of_case = [row for row in rows if (row["temperature"], row["concurrency"]) == case]
        lines += ["", folded(_step_line(steps)), "", _rows_table(of_case, wide=wide)]
    lines += [
        "",
        *map(folded, (_LEGEND, _WIDE_LEGEND if wide else _HIDDEN)),
        folded(
            "Time of a token, predicted against measured: "
            f"{summary['mean_abs_time_error_percent']:.1f} % off on average, "
            f"{summary['max_abs_time_error_percent']:.1f} % at most."
        ),
    ]
    found = [row for row in rows if not row["acceptance_explained"]]
    lines += [
        folded(
            f"Audit, temperature {row['temperature']:g}, {row['concurrency']} at once, gamma "
            f"{row['gamma']}: {row['audit']}."
        )
        for row in found
    ]
    if found:
        lines.append("Time there is predicted from the counted acceptance.")
    else:
        lines.append("Audit: the engine accepts what its models' laws allow.")
    return "\n".join([folded(lines[0]), *lines[1:]])


_LEGEND = (
    '"accepted": of first drafted tokens, as the engine counts; "law": as its two models allow. '
    '"predicted", "measured": the speed-up; "error": of the time of a token; "text": whether it '
    "is the target's own."
)
_WIDE_LEGEND = (
    '"calls": of the target; "free": the speed-up if verifying were free and acceptances i.i.d.'
)
_HIDDEN = "--wide adds intervals, calls, times, and what free verification would gain."


def _rows_table(rows: Sequence[dict[str, Any]], *, wide: bool) -> str:
    """Returns the rows of one temperature and concurrency."""
    cells = [[*_cells(row), *(_more_cells(row) if wide else ())] for row in rows]
    return table(cells, header=COLUMNS + (MORE_COLUMNS if wide else []), marked=_best(rows))


def _cells(row: dict[str, Any]) -> list[str]:
    """Returns one row's cells, as COLUMNS has them."""
    same = row["identical_to_target"]
    return [
        str(row["gamma"]),
        f"{row['acceptance_counted'][0]['value']:.3f}"
        + ("" if row["acceptance_explained"] else " !"),
        f"{row['acceptance_predicted'][0]['value']:.3f}",
        f"{row['predicted_calibrated']:.2f}",
        f"{row['measured']:.2f} {bounds(row['measured_low'], row['measured_high'], digits=2)}",
        f"{row['time_error_percent']:+.1f} %",
        "-" if same is None else "yes" if same else "NO",
    ]


def _more_cells(row: dict[str, Any]) -> list[str]:
    """Returns one row's further cells, as MORE_COLUMNS has them."""
    counted, allowed = row["acceptance_counted"][0], row["acceptance_predicted"][0]
    calls = row["predicted_target_calls"]
    return [
        f"{row['alpha']:.3f}",
        bounds(counted["low"], counted["high"], digits=3),
        bounds(allowed["low"], allowed["high"], digits=3),
        str(row["target_calls"]),
        "-" if calls is None else f"{calls:.1f}",
        f"{row['predicted_theorem8']:.2f}",
        f"{1e3 * row['seconds_per_token']:.2f}",
        f"{1e3 * row['predicted_seconds_per_token']:.2f}",
    ]


def _best(rows: Sequence[dict[str, Any]]) -> list[int]:
    """Returns the index of the fastest row, if it gains."""
    fastest = max(range(len(rows)), key=lambda index: float(rows[index]["measured"]))
    return [fastest] if rows[fastest]["measured"] > 1 else []


def _step_line(steps: dict[str, Any]) -> str:
    """Returns what steps cost at one temperature and concurrency."""
    priced = ", ".join(f"{gamma}: {ms:.2f}" for gamma, ms in steps["step_ms"].items())
    form = "a line"
    if steps["line_error_percent"] is not None:
        form = f"a line misses the middle one by {steps['line_error_percent']:+.1f} %"
        form += "" if steps["line"] else ", which therefore counts"
    return (
        f"Temperature {steps['temperature']:g}, {steps['concurrency']} at once: target alone "
        f"{steps['baseline_ms']:.2f} ms a token; a step in ms by gamma {priced} ({form})."
    )
