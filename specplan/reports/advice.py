"""The advice of a plan as text: the draft length, its probability of a gain, and the next run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simulator.acceptance.acceptance import Iid, iid_error
from simulator.choice.advice import BEATEN, certainty, percentage
from simulator.choice.curve import (
    baseline_seconds,
    break_even_alpha,
    break_even_c,
    curve_of,
    speed_up,
)
from specplan.reports.next_run import assumed_lines, limit_lines, next_lines
from specplan.reports.output import warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulator.choice.plan import Plan

NOT_CALIBRATED = "For draft models that were never run this probability is not calibrated."
# Acceptance may fall short of the stated one by this.
SHORT = 0.1
# Relative: speed-ups that differ by less are one answer.
_SAME = 0.05


def advice_lines(plan: Plan) -> list[str]:
    """Returns the advice: draft length, probability of a gain, break-even, and the next run."""
    curve, price, exact = plan.curve, plan.price, plan.price.posterior is None
    lines = [*([] if exact else assumed_lines(plan)), *decision_lines(plan)]
    if price.timed or price.wall is not None or curve.extrapolated.any():
        lines += limit_lines(plan)
    if plan.gamma not in (0, plan.optimal_gamma, plan.advice.named):
        lines.append(f"K = {plan.gamma} gives {_gain(plan, plan.gamma)}.")
    if exact:
        return [*lines, *_speed(plan), *_iid(plan), _break_even(plan)]
    return [*lines, *_ended_early(plan), *next_lines(plan), *_speed(plan)]


def warn_of_sizes(rows: Sequence[Plan]) -> None:
    """Prints a warning if c does not fit the sizes of both models."""
    price = next((row.price for row in rows if row.price.questions_c), None)
    if price is not None and price.expected_c is not None:
        low, high = price.expected_c
        warn(
            f"c {price.cost.c:.2g} does not fit the models' sizes: a draft with "
            f"{100 * (price.draft_share or 0):.2g} % of the target's weights takes {low:.2g} to "
            f"{high:.2g} of a target step. Check c, or the tokens per call and the times that it "
            "follows from"
        )


def break_evens(plan: Plan) -> tuple[float | None, float | None]:
    """Returns the acceptance rate and the c at which speculation breaks even; None if none does."""
    cap, cost = len(plan.curve.gamma), plan.price.cost
    alpha = break_even_alpha(cost, max_gamma=cap)
    c = break_even_c(plan.acceptance, cost, max_gamma=cap) if cost.by_steps else math.nan
    return None if math.isnan(alpha) else alpha, None if math.isnan(c) else c


def odds_text(plan: Plan) -> str:
    """Returns a sentence with the probability of a gain, also at a lower acceptance."""
    probability = plan.advice.gain_probability
    assert probability is not None
    words, percent = certainty(probability), f"{percentage(probability)} %"
    if words == "a loss is likelier":
        return f"A loss is likelier ({100 - percentage(probability)} %)."
    opening = "A gain is undecided" if words == "undecided" else f"A gain is {words}"
    lower = plan.alpha - SHORT
    # An acceptance that was never observed is stated by the user.
    if plan.acceptance.observed_gamma is not None or plan.price.posterior is None or lower < 0:
        return f"{opening} ({percent})."
    at = plan.curve.gamma[[plan.advice.named - 1]]
    worse = curve_of(Iid(lower), plan.price, at, c_hat=plan.c_hat).gains.exceeds(1.0)[0]
    return (
        f"{opening}: {percent} if acceptance is {plan.alpha:.2g}; {percentage(worse)} % at "
        f"{lower:.2g}."
    )


def decision_lines(plan: Plan) -> list[str]:
    """Returns the advised draft length and the probability of a gain."""
    advice = plan.advice
    named, gain = advice.named, _gain(plan, advice.named)
    if advice.undecided:
        chance = percentage(advice.gain_probability or 0.0)
        return [f"Undecided ({chance} %): measure K = 0 and K = {named} first. K = {named} "
                f"gives {gain}.", NOT_CALIBRATED]  # fmt: skip
    doubt = [odds_text(plan)] if plan.curve.in_doubt and named > 0 else []
    if advice.gamma > 0:
        tokens = "1 token" if named == 1 else f"{named} tokens"
        lines = [f"Draft {tokens} per block (K = {named}): {gain}{_near(plan)}.", *doubt]
        if not advice.measured:
            return [*lines, *_tolerance(plan)]
        estimated = plan.price.load is not None and plan.price.load.estimated
        where = " at other batches" if estimated else ""
        few = f"{100 * BEATEN:.0f} %"
        kept = f"no other K is likely to be {few} faster."
        return [*lines, f"Runs of K = {named}{where} gained; {kept}"]
    if named == 0:
        return ["Do not speculate: no K is possible here."]
    if plan.optimal_gamma == 0:
        return [f"Do not speculate: the best, K = {named}, gives {gain}.", *doubt]
    share = f"{100 * plan.near:g} %"
    return [
        f"Not worth a draft: K = {named} gives {gain}, within {share} of no speculation.",
        *doubt,
    ]


def _gain(plan: Plan, gamma: int) -> str:
    """Returns a speed-up as text, with its interval if it has one."""
    inside = 0 < gamma <= len(plan.curve.gamma)
    curve, at = (plan.curve, gamma - 1) if inside or plan.at is None else (plan.at, 0)
    factor = f"{curve.improvement_factor[at]:.2f} times the speed without speculation"
    return f"{factor} ({curve.low[at]:.2f} to {curve.high[at]:.2f})" if curve.in_doubt else factor


def _near(plan: Plan) -> str:
    """Returns a note that names the best γ if a smaller one is advised."""
    best = plan.advice.best
    if best == plan.advice.gamma or best == 0 or plan.advice.measured:
        return ""
    factor = plan.curve.improvement_factor[best - 1]
    return f", within {100 * plan.near:g} % of the best, K = {best} ({factor:.2f} times)"


def _tolerance(plan: Plan) -> list[str]:
    """Returns the range of γ that lose little: the top of the curve is flat."""
    near = plan.within(0.02)
    first = last = plan.advice.best
    while first - 1 in near and first > 1:
        first -= 1
    while last + 1 in near:
        last += 1
    return [] if first == last else [f"K = {first} to {last} come within 2 % of the best."]


def _ended_early(plan: Plan) -> list[str]:
    """Returns a sentence for each run with drafts that ended early: the plan drafts all K."""
    return [
        f"Drafts of the run at K = {run.gamma} ended early: {run.drafted:.1f} tokens on average, "
        f"{1e3 * run.seconds_per_token:.2f} ms a token. This plan drafts all K tokens, and more of "
        f"them are rejected. If a p-min ended them, run K = {plan.advice.named or plan.gamma} "
        "without p-min before you change K."
        for run in plan.price.own_runs
        if run.drafted is not None
    ]


def _speed(plan: Plan) -> list[str]:
    """Returns the tokens per second at the advised γ and without speculation."""
    baseline = plan.baseline_tokens_per_second
    if baseline is None:
        return []
    law, named = baseline_seconds(plan.price), plan.advice.named
    low, middle, high = (1e3 * each[0] for each in law.interval())
    lines = []
    if named > 0:
        with_draft = baseline * plan.curve.improvement_factor[named - 1]
        lines.append(
            f"Tokens per second: {with_draft:.1f} at K = {named}, {baseline:.1f} without "
            "speculation."
        )
    if plan.price.posterior is None:
        return lines
    return [
        *lines,
        f"Without speculation a token takes {middle:.2f} ms ({low:.2f} to {high:.2f}). Runs: "
        f"{len(plan.price.posterior.runs)}.",
    ]


def _iid(plan: Plan) -> list[str]:
    """Returns whether equal acceptance at all positions would give nearly these numbers."""
    error = iid_error(plan.acceptance, max_gamma=len(plan.curve.gamma))
    gamma = plan.advice.named
    if error is None or gamma == 0:
        return []
    even = float(speed_up(Iid(plan.alpha), plan.price.cost, gamma))
    would = f"If all positions were accepted equally, K = {gamma} would give {even:.2f}"
    if abs(error[0]) > _SAME:
        side = "many" if error[0] > 0 else "few"
        return [
            f"{would}: {100 * abs(error[0]):.0f} % too {side} tokens per call at K = {error[1]}. "
            "Positions are not accepted equally, and the plan counts that."
        ]
    if abs(even / plan.curve.improvement_factor[gamma - 1] - 1) <= _SAME:
        return [f"{would}: the choice does not change."]
    return [f"{would}: as many tokens per call, but every block would draft all it may."]


def _break_even(plan: Plan) -> str:
    alpha, c = break_evens(plan)
    costs = "this c" if plan.tokens_per_second is None else "these costs"
    if alpha is None or alpha == 1:
        least = f"at {costs} not even a perfect draft gains"
    elif alpha > 0:
        least = f"acceptance {alpha:.2g} at {costs}"
    else:
        least = f"any acceptance at {costs}"
    step = "" if not c else f", or a draft step of {100 * c:.3g} % of a target step"
    return f"Break-even: {least}{step}."
