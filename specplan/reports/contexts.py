"""The acceptance by context, and the draft length by context: where it changes, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.choice.plan import Plan
from simulator.choice.schedule import by_context
from specplan.reports.lengths import listed
from specplan.reports.table import GAMMA, Column, ranged, table

if TYPE_CHECKING:
    from estimator.profiles.parts import ContextAcceptance

# Relative changes below this are no reason.
_SAME = 0.02


def acceptance_lines(measured: Sequence[ContextAcceptance], gamma: int) -> list[str]:
    """Returns a table of alpha and tokens per call by context; [] if none were measured apart.

    gamma: the γ of the tokens per call, if it was replayed.
    """
    if not measured:
        return []
    gamma = min(gamma, max(measured[0].blocks))
    columns: list[Column[ContextAcceptance]] = [
        ("context", "{first}-{last}"),
        ("tokens", "{alpha.tokens}"),
        ("alpha", lambda e: ranged(e.alpha.value, e.alpha.low, e.alpha.high, ".2f")),
        ("tokens/call", lambda e: f"{1 / sum(e.blocks[gamma]):.2f}"),
    ]
    low, high = sorted((measured[0].alpha, measured[-1].alpha), key=lambda alpha: alpha.value)
    apart = low.high is not None and high.low is not None and low.high < high.low
    same = [] if apart else ["The first and the last interval overlap: no change was shown."]
    head = f"At {GAMMA} {gamma}, by context (tokens of the prompt and of the text so far):"
    return ["", head, table(measured, columns), *same]


def contexts_json(rows: Sequence[Plan], only: int | None) -> list[dict[str, int]]:
    """Returns the γ by batch size and largest context, for batch sizes with several contexts."""
    return [
        {"batch": batch, "last_context": context, "gamma": gamma}
        for batch, ranges in by_context(rows, only).items()
        for context, gamma in ranges
    ]


def contexts_text(rows: Sequence[Plan], only: int | None) -> list[str]:
    """Returns for each batch size with several contexts a sentence with the γ, and the reason."""
    lines, batches = [], by_context(rows, only)
    for batch, ranges in batches.items():
        firsts = [1, *(context + 1 for context, _ in ranges)]
        parts = [(first, *part) for first, part in zip(firsts, ranges, strict=False)]
        every = sorted(
            (row for row in rows if row.setting.batch == batch), key=lambda row: row.place
        )
        some = [row for row in every if row.setting.fits]
        if len(batches) > 1:  # of one batch, the first sentence says it
            lines.append(f"By context at batch {batch}: {listed(parts, 'context')}.")
        if len(some) < len(every):
            lines.append(f"Contexts from {every[len(some)].place[0]} on do not fit.")
        if len(some) > 1:
            lines.append(_reason(some[0], some[-1], ranges))
    if lines:
        lines.append("K changes only where keeping it would lose more than 1 %.")
    return lines


def _reason(first: Plan, last: Plan, ranges: Sequence[tuple[int, int]]) -> str:
    """Returns what changes from the shortest to the longest context, at the γ of the shortest."""
    gamma = max(ranges[0][1], 1)
    one, other = first.point(gamma), last.point(gamma)
    steps = [point.expected_tokens / point.improvement_factor for point in (one, other)]
    changes = []
    if abs(other.expected_tokens / one.expected_tokens - 1) > _SAME:
        changes.append(
            f"acceptance changes ({one.expected_tokens:.2f} to {other.expected_tokens:.2f} tokens "
            "per call)"
        )
    if abs(steps[1] / steps[0] - 1) > _SAME:
        changes.append(_block_change(first, last, gamma, steps))
    where = f"From context {first.place[0]} to {last.place[0]}, at K = {gamma},"
    return f"{where} {' and '.join(changes) or 'hardly anything changes'}."


def _block_change(first: Plan, last: Plan, gamma: int, steps: Sequence[float]) -> str:
    """Returns why a block takes more or fewer target steps at the longest context.

    Passes over several tokens that were timed apart from drafts show whether attention of several
    queries becomes slower than of one: caches are read once by either. Runs of blocks do not.
    """
    block = f"a block takes {steps[0]:.2f}, then {steps[1]:.2f} target steps"
    if first.cost.posterior is None and first.setting.load is not None:
        short, long = (
            float(plan.cost.checking_seconds(gamma)) / plan.cost.baseline_seconds
            for plan in (first, last)
        )
        if long > (1 + _SAME) * short:
            return (
                f"checking {gamma + 1} tokens becomes slower ({short:.2f}, then {long:.2f} target "
                "steps: kernels for attention of few queries are slower than for one) and "
                f"{block}"
            )
    return f"cache reads of draft and target change ({block})"
