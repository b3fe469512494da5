"""A validation as text: a table for each draft and temperature, and a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulator.numerics.intervals import CONFIDENCE, percent
from specplan.reports.profile import TIMES_IN_DOUBT
from specplan.reports.table import MS, TOKENS, Column, fastest, folded, interval, shown, table
from specplan.reports.trust import intervals_line, noise_line, trust_lines

if TYPE_CHECKING:
    from engines.trials.validation import EngineRow
    from estimator.validation.file import SpeculativeRow, ValidationRow
    from estimator.validation.validation import Validation

_LONGEST_NAME = 24
MEASURED = f"measured [{percent()}]"


def rows_table(validation: Validation, *, wide: bool) -> str:
    """Returns the table of one draft at one temperature; wide: add columns past 80 characters."""
    rows, first, temperature = (
        validation.rows,
        validation.rows[0],
        validation.rows[0].draft_temperature,
    )
    best = fastest([row for row in rows if not row.doubts], lambda row: row.measured)
    drawn = "" if temperature in (None, first.temperature) else f", draft {temperature:g}"
    heading = (
        f"draft {_short(first.draft)}, temperature {first.temperature:g}{drawn}: alpha "
        f"{first.alpha:.3f}, c {shown(first.c, '.3f')}"
    )

    def note(row: SpeculativeRow) -> str:
        return marks(row) or "<-" * best(row)

    return f"{heading}\n{table(rows, _COLUMNS + (_MORE_COLUMNS if wide else []), note=note)}"


def summary_lines(summary: Mapping[str, Any], validations: Sequence[Validation]) -> str:
    """Returns sentences on the setup, the measured costs, and the accuracy of predictions."""
    rows = [row for validation in validations for row in validation.rows]
    tokens, repeats = sum(row.tokens for row in rows), summary["repeats"]
    threads, counts = validations[0].threads, {validation.prompts for validation in validations}
    prompts = " to ".join(map(str, sorted({min(counts), max(counts)})))
    timings = "timed once" if repeats == 1 else f"the median of each block's {repeats} timings"
    lines = [
        f"Speed-ups over decoding one token at a time; {prompts} prompts, {tokens} "
        f"tokens in all rows, {timings}.",
        intervals_line(CONFIDENCE),
        *([] if threads is None else [f"Computed by {threads.sentence}"]),
        'K: gamma, num_speculative_tokens; "free": the speed-up if verification were free and '
        "acceptances i.i.d. The costs here:",
        *(_costs(validation) for validation in validations),
    ]
    lines += noise_line(summary)
    in_doubt = [row for row in rows if row.doubts]
    lines += [
        f"In doubt: {_short(row.draft)}, temperature {row.temperature:g}, {_policy(row)}: "
        f"{'; '.join(row.doubts)}."
        for row in in_doubt
    ]
    lines += [TIMES_IN_DOUBT] * bool(in_doubt)
    if not summary["quiet"]:
        worst = max(summary["noise_percent"], summary["noise_within_percent"])
        lines.append(
            "This machine was not quiet: the baseline's speed differs from itself by up to "
            f"{worst:.0f} %. End other programs, compute by fewer --threads, or raise --repeats."
        )
    if lossy := ", ".join(sorted({row.rule for row in rows if not row.lossless})):
        lines.append(f"Lossy: the rule {lossy} changes the target's output distribution.")
    if gaps := [row.tie_gap for row in rows if row.lossless and row.tie_gap is not None]:
        lines.append(
            "TEXT DIFFERS: greedy text leaves the target's own where its two likeliest logits are "
            f"at most {max(gaps):.3g} apart; verifying several tokens at once rounds differently."
        )
    lines += trust_lines(rows, summary)
    return folded("\n".join(lines))


def _costs(validation: Validation) -> str:
    """Returns a line with the times of a target step, a draft step, verification and overhead."""
    row, cost = validation.rows[-1], validation.cost
    longest, step = max(cost.target_seconds), cost.verify_seconds(1)
    return (
        f"  {_short(row.draft)}, temperature {row.temperature:g}: target step {1e3 * step:.1f} ms, "
        f"draft step {1e3 * cost.draft_seconds:.2f} ms; verifying drafts of {longest - 1} takes "
        f"{float(cost.verify_seconds(longest)) / float(step):.2f} steps, each block "
        f"{1e3 * cost.overhead_seconds:.2f} ms of overhead"
    )


def _short(name: str) -> str:
    """Returns a name; if it is long, only its end."""
    return name if len(name) <= _LONGEST_NAME else f"...{name[3 - _LONGEST_NAME :]}"


def _policy(row: SpeculativeRow) -> str:
    policy = row.policy if row.gamma is None else f"K={row.gamma}"
    return policy if row.lossless else f"{policy}, lossy"


def _measured(row: SpeculativeRow) -> str:
    high = row.measured_high
    return interval(row, "measured", ".2f" if high is None or high < 10 else ".2g")


def _error(row: SpeculativeRow) -> str:
    """Returns the prediction's error in per cent, ± half the width of its interval over prompts."""
    low, high = row.error_percent_low, row.error_percent_high
    half = 0.0 if low is None or high is None else (high - low) / 2
    form = ".1f" if max(abs(row.error_percent or 0.0), half) < 10 else ".0f"
    return shown(row.error_percent, f"+{form}", f"±{half:{form}} %" if half > 0 else " %")


def marks(row: SpeculativeRow | EngineRow) -> str:
    """Returns a row's marks: "TEXT DIFFERS" from the target's greedy text; "!": times in doubt."""
    gap = getattr(row, "tie_gap", None)
    text = "TEXT DIFFERS" + ("" if gap is None else f" ({gap:.2g})")
    return "  ".join([text] * (row.identical_to_target is False) + ["!"] * bool(row.doubts))


def shares(row: ValidationRow) -> str:
    """Returns the shares of a run's time in per cent: drafting, verifying, other."""
    seconds = row.parts_seconds
    if seconds is None:
        return "-"
    return "/".join(f"{100 * part / sum(seconds):.0f}" for part in seconds) + " %"


_COLUMNS: list[Column[SpeculativeRow]] = [
    ("policy", _policy),
    ("free", "{predicted_theorem8:.2f}"),
    ("predicted", "{predicted:.2f}"),
    (MEASURED, _measured),
    ("error", _error),
    (MS, "{ms_per_token:.2f}"),
    (TOKENS, "{tokens_per_second:.1f}"),
]
_MORE_COLUMNS: list[Column[SpeculativeRow]] = [
    ("calls", "{target_calls}"),
    (f"ahead [{percent()}]", lambda row: interval(row, "predicted_ahead")),
    ("draft/verify/other", shares),
]
