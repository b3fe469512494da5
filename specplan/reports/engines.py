"""The readable form of a validation on an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specplan.reports.output import folded
from specplan.reports.table import Column, bounds, fastest, ranged, shown, table

if TYPE_CHECKING:
    from engines.trials.row import Row
    from engines.trials.steps import Steps
    from engines.trials.trial import Case
    from engines.trials.validation import Summary, Validation


def report(validation: Validation, *, prompts: int, repeats: int, wide: bool = False) -> str:
    """Returns a table for each temperature and concurrency, what steps cost, and the audit.

    Args:
      validation: of at least one row.
      prompts, repeats: that were run.
      wide: whether all columns are shown, beyond 80 characters.
    """
    rows = validation.rows
    first, summary = rows[0], validation.summary
    drafting = "argmax" if first.draft_temperature < first.temperature else "drawn"
    runs = "1 run" if repeats == 1 else f"{repeats} runs"
    lines = [
        f"{first.engine} {first.engine_version}, draft {first.draft}"
        + (f" (its drafts: {drafting})" if first.temperature > 0 else "")
        + f"; {prompts} prompts, {runs} of each; prices from as many other prompts.",
    ]
    for case, steps in validation.steps.items():
        of_case = [row for row in rows if (row.temperature, row.concurrency) == case]
        columns = _COLUMNS + (_MORE_COLUMNS if wide else [])
        lines += [
            "",
            folded(_step_line(case, steps)),
            "",
            table(of_case, columns, best=fastest(of_case, lambda row: row.measured)),
        ]
    lines += ["", *map(folded, (_LEGEND, _WIDE_LEGEND if wide else _HIDDEN, _errors(summary)))]
    found = [row for row in rows if not row.acceptance_explained]
    lines += [
        folded(
            f"Audit, temperature {row.temperature:g}, {row.concurrency} at once, gamma "
            f"{row.gamma}: {row.audit}."
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


def _errors(summary: Summary) -> str:
    return (
        "Time of a token, predicted against measured: "
        f"{summary.mean_abs_time_error_percent:.1f} % off on average, "
        f"{summary.max_abs_time_error_percent:.1f} % at most."
    )


def _step_line(case: Case, steps: Steps) -> str:
    """Returns what steps cost at one temperature and concurrency."""
    temperature, concurrency = case
    priced = ", ".join(f"{gamma}: {1e3 * one:.2f}" for gamma, one in steps.seconds.items())
    form = "a line"
    if steps.line_error is not None:
        form = f"a line misses the middle one by {100 * steps.line_error:+.1f} %"
        form += "" if steps.is_line else ", which therefore counts"
    return (
        f"Temperature {temperature:g}, {concurrency} at once: target alone "
        f"{1e3 * steps.baseline_seconds:.2f} ms a token; a step in ms by gamma {priced} ({form})."
    )


def _counted(row: Row) -> str:
    explained = "" if row.acceptance_explained else " !"
    return f"{row.acceptance_counted[0].value:.3f}{explained}"


_COLUMNS: list[Column[Row]] = [
    Column("gamma", lambda row: str(row.gamma)),
    Column("accepted", _counted),
    Column("law", lambda row: f"{row.acceptance_predicted[0].value:.3f}"),
    Column("predicted", lambda row: shown(row.predicted_calibrated)),
    Column(
        "measured [95 %]", lambda row: ranged(row.measured, row.measured_low, row.measured_high)
    ),
    Column("error", lambda row: shown(row.time_error_percent, "+.1f", " %")),
    Column("text", lambda row: {True: "yes", False: "NO", None: "-"}[row.identical_to_target]),
]
_MORE_COLUMNS: list[Column[Row]] = [
    Column("alpha", lambda row: shown(row.alpha, ".3f")),
    Column(
        "accepted [95 %]",
        lambda row: bounds(row.acceptance_counted[0].low, row.acceptance_counted[0].high, ".3f"),
    ),
    Column(
        "law [95 %]",
        lambda row: bounds(
            row.acceptance_predicted[0].low, row.acceptance_predicted[0].high, ".3f"
        ),
    ),
    Column("calls", lambda row: str(row.target_calls)),
    Column("predicted", lambda row: shown(row.predicted_target_calls, ".1f")),
    Column("free", lambda row: shown(row.predicted_theorem8)),
    Column("ms/token", lambda row: shown(1e3 * row.seconds_per_token)),
    Column("predicted", lambda row: shown(1e3 * row.predicted_seconds_per_token)),
]
