"""What to do about a plan, in plain words: what to draft, and where it would stop paying."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.choice.plan import Plan

# Relative: speed-ups that differ by less are one answer.
_SAME = 0.05


def advice(plan: Plan, *, gain_certain: bool | None = None) -> list[str]:
    """Returns what to draft, what that gains, and at which alpha and c it still would.

    gain_certain: whether speculation is known to gain; None: nobody measured it.
    """
    if plan.optimal_gamma == 0:
        lines = ["Do not speculate: at this alpha and these costs no gamma is faster."]
    elif gain_certain is False:
        best = plan.curve.improvement_factor[plan.optimal_gamma - 1]
        lines = [
            "Do not speculate: no gain is certain. On average gamma "
            f"{plan.optimal_gamma} is best, with {best:.2f} times the speed of the target alone."
        ]
    else:
        lines = [*_recommendation(plan), *_tolerance(plan), *_observed(plan)]
    if plan.gamma != plan.optimal_gamma:
        lines.append(f"Gamma {plan.gamma} gives {_gain(plan)}")
    if plan.tokens_per_second is not None:
        lines.append(
            f"Tokens per second: {plan.tokens_per_second:.1f}, without a draft "
            f"{plan.baseline_tokens_per_second:.1f}."
        )
    lines += _iid(plan)
    lines.append(_break_even(plan))
    return lines


def _recommendation(plan: Plan) -> list[str]:
    """Says what to draft: the smallest gamma near the best, and what that saves from."""
    factor = plan.curve.improvement_factor[plan.optimal_gamma - 1]
    best = f"gamma {plan.optimal_gamma} ({factor:.2f} times)"
    share = f"{100 * plan.near:g} %"
    if plan.gamma_near == 0:
        return [f"Not worth a draft: the best is {best}, within {share} of none at all."]
    tokens = "1 token" if plan.gamma_near == 1 else f"{plan.gamma_near} tokens"
    if plan.gamma_near == plan.optimal_gamma:
        if plan.gamma == plan.optimal_gamma:
            return [f"Draft {tokens} per block: {_gain(plan)}"]
        return [f"Draft {tokens} per block: {factor:.2f} times the speed of the target alone."]
    near = plan.curve.improvement_factor[plan.gamma_near - 1]
    return [
        f"Draft {tokens} per block: {near:.2f} times the speed of the target alone,",
        f"within {share} of the best, {best}.",
    ]


def _iid(plan: Plan) -> list[str]:
    """Says whether i.i.d. acceptances would give the same numbers, and what they would give."""
    if plan.iid_error is None:
        return []
    factor = f"gamma {plan.gamma} would give {plan.improvement_factor_iid:.2f}"
    if not plan.iid_consistent:
        side = "high" if plan.iid_error > 0 else "low"
        return [
            "Acceptances are not i.i.d.: with this alpha at every position tokens per call would "
            f"be {100 * abs(plan.iid_error):.0f} % too {side} at gamma {plan.iid_error_gamma}, and "
            f"{factor} times the speed."
        ]
    if abs(plan.improvement_factor_iid / plan.improvement_factor - 1) <= _SAME:
        return [f"With this alpha at every position (i.i.d.) {factor}: no other answer."]
    return [
        f"With this alpha at every position (i.i.d.) {factor}: tokens per call would be the same, "
        "but each block would draft all it may."
    ]


def _gain(plan: Plan) -> str:
    return (
        f"{plan.improvement_factor:.2f} times the speed of the target alone.\n"
        f"A target call yields {plan.expected_tokens:.2f} tokens; a token takes "
        f"{plan.operations_factor:.2f} times the arithmetic."
    )


def _tolerance(plan: Plan) -> list[str]:
    """Says how far from the best gamma one may stray: the top of the curve is flat."""
    improvement = plan.curve.improvement_factor
    near = improvement >= 0.98 * improvement.max()
    first = last = plan.optimal_gamma
    while first > 1 and near[first - 2]:
        first -= 1
    while last < len(near) and near[last]:
        last += 1
    return [] if first == last else [f"Gamma {first} to {last} come within 2 % of that."]


def _observed(plan: Plan) -> list[str]:
    """Says what the largest observed gamma gives, where the advised one lies beyond."""
    observed = plan.observed_gamma
    if observed is None or not 0 < observed < plan.gamma_near:
        return []
    gain = plan.curve.improvement_factor[observed - 1]
    return [
        f"No position beyond {observed} was observed: gamma {observed} gives {gain:.2f}. Try gamma "
        f"{plan.gamma_near}, and look again."
    ]


def _break_even(plan: Plan) -> str:
    c = plan.break_even_c
    costs = "this c" if plan.tokens_per_second is None else "these costs"
    below = "at no c" if c is None or c == 0 else f"below c {c:.3g}"
    these = "this alpha" if plan.acceptance_kind == "iid" else "these acceptances"
    return f"Speculation pays {_paying_alphas(plan)} with {costs},\n{below} with {these}."


def _paying_alphas(plan: Plan) -> str:
    least = plan.break_even_alpha
    if least is None or least == 1:
        return "at no alpha"
    if least > 0:
        return f"above alpha {least:.3g}"
    gains_unaccepted = plan.alpha == 0 and plan.optimal_gamma > 0
    return "at any alpha" if gains_unaccepted else "at any alpha above 0"
