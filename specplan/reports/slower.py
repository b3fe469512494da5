"""Why speculation is slower: the cause that a plan's numbers show, and the next step."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.choice.plan import Plan
from simulator.cost.fitted.runs import Run, pooled

# With fewer tokens per call than this, most drafts are rejected at once.
FEW_TOKENS = 1.35
# A longer draft is too long if it adds fewer tokens to a call than this, for each drafted one.
HARDLY = 0.15


def slower_text(plan: Plan, runs: Sequence[Run] = ()) -> str:
    """Returns the cause of a loss, with its number and what to do; "" if there is no loss.

    It explains the K of the slowest run below the baseline, else the best K if no K gains.

    runs: runs at this load and others, which show whether a K gains at a smaller batch.
    """
    gamma = _slow_gamma(plan)
    if gamma == 0:
        return ""
    cost, point = plan.cost, plan.point(gamma)
    tokens, block = point.expected_tokens, point.expected_tokens / point.improvement_factor
    batch, load = plan.setting.batch, plan.setting.load
    drafting = float(cost.drafting_seconds(gamma)) / cost.baseline_seconds
    checking = float(cost.checking_seconds(gamma)) / cost.baseline_seconds
    outside = float(cost.checking_seconds(0)) / cost.baseline_seconds - 1
    reason = f"Why slower at K = {gamma}: a block takes {block:.2f} target steps and gives "
    reason += f"{tokens:.2f} tokens"
    if tokens < FEW_TOKENS:
        return (
            f"{reason}: the draft is hardly ever right. Check that chat template, tokenizer and "
            "temperature are those it was made for, or take another draft."
        )
    best = plan.optimal_gamma
    if 0 < best < gamma and tokens - plan.point(best).expected_tokens < HARDLY * (gamma - best):
        fewer = plan.point(best).expected_tokens
        return (
            f"{reason}, hardly more than the {fewer:.2f} of K = {best}: K is too large for this "
            "acceptance. Lower it."
        )
    if batch > 1 and cost.own_runs and (load is None or not load.modelled):
        before = _smaller_batch(runs, gamma, batch)
        if before is not None and before[1] < block:
            return (
                f"{reason}. At batch {before[0]} a block takes {before[1]:.2f}: the draft is fast "
                f"enough, and no arithmetic is spare at batch {batch}. Speculate at smaller "
                "batches only."
            )
        return (
            f"{reason}: at batch {batch} either the draft is slow or no arithmetic is spare for "
            "checking. A gain at batch 1 would show that arithmetic is scarce."
        )
    if outside > max(drafting, checking - 1 - outside) and not cost.own_runs:
        return (
            f"{reason}; {outside:.2f} of these steps are the server's time outside of both models' "
            "passes, for any K. Look for drafts that run without captured graphs, and for a busy "
            "CPU. A newer server may spend less."
        )
    if drafting >= checking - 1:
        return (
            f"{reason}; drafting takes {drafting:.2f} target steps (c {cost.c:.2g}). Take a "
            "smaller draft, or a head (EAGLE-3, MTP)."
        )
    of = f" at batch {batch}" if batch > 1 else ""
    return (
        f"{reason}; checking {gamma + 1} tokens takes {checking:.2f} target steps{of}: no "
        "arithmetic is spare there. Speculate at smaller batches only (--batch 1:64:1), or lower K."
    )


def _slow_gamma(plan: Plan) -> int:
    """Returns the K to explain; 0 if speculation is not slower."""
    before = [run for run in plan.cost.own_runs if run.gamma == 0]
    slow = [
        run
        for run in plan.cost.own_runs
        if run.gamma > 0
        and any(
            other.load == run.load and run.seconds_per_token > other.seconds_per_token
            for other in before
        )
    ]
    if slow:
        gamma = max(slow, key=lambda run: run.seconds_per_token).gamma
        return gamma if plan.point(gamma).improvement_factor < 1 else 0
    return plan.advice.named if plan.optimal_gamma == 0 else 0


def runs_of(rows: Sequence[Plan]) -> list[Run]:
    """Returns the runs at the loads of plans."""
    return [run for row in rows for run in row.cost.own_runs]


def _smaller_batch(runs: Sequence[Run], gamma: int, batch: int) -> tuple[int, float] | None:
    """Returns the smallest batch below `batch` with runs at 0 and gamma; None: there is none.

    The second number is the time of its block in target steps.
    """
    means = pooled([run for run in runs if run.load.batch < batch])
    plain = {run.load: run.seconds_per_token for run in means if run.gamma == 0}
    blocks = {
        run.load.batch: run.seconds_per_token * run.length / plain[run.load]
        for run in means
        if run.gamma == gamma and run.load in plain
    }
    return min(blocks.items(), default=None)
