"""Validations and measurements on an engine, as text and JSON."""

from typing import Any

from engines.engine import Case
from engines.trials.request import MeasureEngine
from engines.trials.timing import Steps
from engines.trials.validation import EngineRow, EngineValidation
from estimator.validation.file import ENGINE, validation_json
from simulator.numerics.intervals import percent
from specplan.reports.profile import TIMES_IN_DOUBT
from specplan.reports.table import MS, TOKENS, Column, fastest, folded, interval, table
from specplan.reports.trust import noise_line, trust_lines
from specplan.reports.validation import MEASURED, marks


def validation_data(validation: EngineValidation, basis: str) -> dict[str, Any]:
    """Returns a validation's rows, step times and summary as a JSON object; basis: the evidence."""
    steps = [
        {
            "temperature": temperature,
            "concurrency": concurrency,
            "baseline_ms": 1e3 * steps.baseline_seconds,
            "step_ms": {str(gamma): 1e3 * seconds for gamma, seconds in steps.seconds.items()},
            "line": steps.is_line,
            "line_error_percent": None if steps.line_error is None else 100 * steps.line_error,
        }
        for (temperature, concurrency), steps in validation.steps.items()
    ]
    more = {"summary": validation.summary, "flags": validation.flags, "basis": basis}
    said = " ".join(trust_lines(validation.rows, validation.summary))
    return {"sentence": said, **validation_json(ENGINE, validation.rows, steps=steps, **more)}


def validation_text(validation: EngineValidation, *, wide: bool = False) -> str:
    """Returns a validation as text: a table and step times for each temperature and concurrency.

    The text also states whether the counted acceptance is as predicted.
    """
    first, (_, _, time_mean, time_most, _) = validation.rows[0], validation.summary.values()
    drawn = first.draft_temperature is None or first.draft_temperature >= first.temperature
    drafts = f" (its drafts: {'drawn' if drawn else 'argmax'})" if first.temperature > 0 else ""
    runs = "1 run" if validation.repeats == 1 else f"{validation.repeats} runs"
    lines = [
        f"{first.engine} {first.engine_version}, draft {first.draft}{drafts}; {validation.prompts} "
        f"prompts, {runs} of each; prices from as many other prompts.",
        *([f"Set: {', '.join(validation.flags)}."] if validation.flags else []),
    ]
    for case, steps in validation.steps.items():
        rows = [row for row in validation.rows if (row.temperature, row.concurrency) == case]
        best = fastest([row for row in rows if not row.doubts], lambda row: row.measured)
        shown = table(rows, _COLUMNS + (_MORE_COLUMNS if wide else []), best=best, note=marks)
        lines += ["", _step_line(case, steps), "", shown]
    lines += [
        "",
        _LEGEND,
        _WIDE_LEGEND if wide else _HIDDEN,
        f"Predicted times of a token: {time_mean:.1f} % off on average, {time_most:.1f} % at most.",
        *noise_line(validation.summary),
        *trust_lines(validation.rows, validation.summary),
    ]
    unexplained = [row for row in validation.rows if not row.acceptance_explained]
    lines += [f"Audit, {_setting(row)}: {row.audit}." for row in unexplained]
    if unexplained:
        lines.append("Time there is predicted from the counted acceptance.")
    past = [row for row in validation.rows if _counted_tokens(row) > 1.01 * row.block_efficiency]
    if past:
        top = max(past, key=lambda row: _counted_tokens(row) / row.block_efficiency)
        lines.append(
            f"{first.engine} drafts past a text's end and counts what it accepts there: "
            f"{_counted_tokens(top):.2f} tokens a step, {top.block_efficiency:.2f} of them in "
            f"the texts ({_setting(top)}). Times and speed-ups are of the texts."
        )
    doubtful = [row for row in validation.rows if row.doubts]
    lines += [f"In doubt: {_setting(row)}: {'; '.join(row.doubts)}." for row in doubtful]
    if doubtful:
        lines.append(TIMES_IN_DOUBT)
    elif not unexplained:
        lines.append("Audit: the engine accepts what its models' distributions imply.")
    return "\n".join(line if "\n" in line else folded(line) for line in lines)


def _setting(row: EngineRow) -> str:
    return f"temperature {row.temperature:g}, {row.concurrency} at once, gamma {row.gamma}"


_LEGEND = (
    'K: gamma, num_speculative_tokens; "accepted": how often the engine accepts the first drafted '
    'token; "predicted", "measured": the speed-up; "error": of that prediction. A text that is not '
    "the target's own is marked."
)
_WIDE_LEGEND = (
    '"expected": acceptance as the two models\' distributions imply; "calls": of the target; '
    '"free": the speed-up if verification were free and acceptances i.i.d.; "ms predicted", '
    '"ms error": of the time of a token, over the baseline that steps are priced with.'
)
_HIDDEN = (
    "--wide adds expected acceptance, calls, predicted times, and what free verification would "
    "gain."
)


def _step_line(case: Case, steps: Steps) -> str:
    """Returns a line with the baseline's time and the step time at each γ, in milliseconds."""
    priced = ", ".join(f"{gamma}: {1e3 * seconds:.2f}" for gamma, seconds in steps.seconds.items())
    form = "a line"
    if steps.line_error is not None:
        form = f"a line misses the middle one by {100 * steps.line_error:+.1f} %"
        form += "" if steps.is_line else ", which therefore counts"
    return (
        f"Temperature {case[0]:g}, {case[1]} at once: baseline "
        f"{1e3 * steps.baseline_seconds:.2f} ms a token; a step in ms by gamma {priced} ({form})."
    )


def _counted_tokens(row: EngineRow) -> float:
    """Returns tokens per step by the server's own rates, which count drafts past a text's end."""
    return 1 + sum(rate.value for rate in row.acceptance_counted)


def _accepted(row: EngineRow) -> str:
    return f"{row.acceptance_counted[0].value:.3f}{'' if row.acceptance_explained else ' !'}"


_COLUMNS: list[Column[EngineRow]] = [
    ("K", "{gamma}"),
    ("accepted", _accepted),
    ("predicted", "{predicted:.2f}"),
    (MEASURED, lambda row: interval(row, "measured")),
    ("error", "{error_percent:+.1f} %"),
    (MS, "{ms_per_token:.2f}"),
    (TOKENS, "{tokens_per_second:.1f}"),
]
_ENDS = "[{acceptance_counted[0].low:.3f}, {acceptance_counted[0].high:.3f}]"
_MORE_COLUMNS: list[Column[EngineRow]] = [
    ("alpha", "{alpha:.3f}"),
    (f"accepted [{percent()}]", _ENDS),
    (f"expected [{percent()}]", "{acceptance_predicted[0]}"),
    ("calls", "{target_calls}"),
    ("predicted", "{predicted_target_calls:.1f}"),
    ("free", "{predicted_theorem8:.2f}"),
    ("ms predicted", lambda row: f"{1e3 * row.predicted_seconds_per_token:.2f}"),
    ("ms error", "{time_error_percent:+.1f} %"),
]


def measurement_notes(request: MeasureEngine, line_error: float | None) -> str:
    """Returns sentences on where a profile's acceptance and step times come from.

    line_error: relative error, at a γ in between, of the straight line from the step time at the
      smallest γ to that at the largest; None: not measured.
    """
    if request.counted:
        where = (
            f"Acceptance is what the engine counted itself at gamma {request.priced_gammas[-1]}, "
            "since its server scores no given text (--laws local: by this machine's own passes)."
        )
    else:
        where = "Acceptance is of two log-probabilities for each token of the target's own texts."
    if not request.priced_gammas:
        prices = (
            "Prices come from target and draft served separately. Verification is assumed to be "
            "free, since a server does not show the time of a pass over several tokens. Without "
            "the URLs, whole steps are priced."
        )
    elif line_error is None:
        prices = "Prices are of other prompts."
    else:
        priced = ", ".join(map(str, request.priced_gammas))
        prices = (
            f"Prices are of other prompts, at gamma {priced}: a line misses the middle one by "
            f"{100 * line_error:+.1f} %. c is what one more drafted token adds to a step."
        )
    return folded(f"{where}\n{prices}")
