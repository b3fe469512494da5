"""The next run as text, with the options that add it, and what is assumed for want of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.cost.pricing import DEFAULT_CONTEXT

if TYPE_CHECKING:
    from simulator.choice.plan import Plan


def assumed_lines(plan: Plan) -> list[str]:
    """Returns a sentence that no run measures c, if none does."""
    c = plan.price.assumed_c
    if c is None:
        return []
    return [
        f"c {plan.price.cost.c:.2g} is assumed ({c[0]:.2g} to {c[1]:.2g}): no run with drafts was "
        "timed."
    ]


def next_lines(plan: Plan) -> list[str]:
    """Returns the next run, the options that add it, and its expected gain; nothing if none."""
    following = plan.advice.next_run
    if following is None:
        return []
    if following.gamma == 0:
        also = f" and K = {following.rival}" * (following.rival > 0)
        runs = [_to_add(plan, 0), *([_to_add(plan, following.rival)] if also else [])]
        return [f"Next: run K = 0{also}, and add {' '.join(runs)}."]
    decides = "whether to speculate"
    if following.rival > 0:
        first, second = sorted((following.gamma, following.rival))
        decides = f"between K = {first} and K = {second}"
    return [
        f"Next: run K = {following.gamma}, and add {_to_add(plan, following.gamma)}. It decides "
        f"{decides}, and may gain {100 * following.gain:.1f} % on average."
    ]


def _to_add(plan: Plan, gamma: int) -> str:
    """Returns the option that adds a run of this plan's load, with MS and L to fill in."""
    most, point, load = plan.acceptance.observed_gamma, plan.price.point, ""
    if most is not None and gamma > most:
        load = ",length=L"
    if point is not None and point.batch > 1:
        load += f",batch={point.batch}"
    if point is not None and point.context != DEFAULT_CONTEXT:
        load += f",context={point.context}"
    return f"--run gamma={gamma},tpot=MS{load}"
