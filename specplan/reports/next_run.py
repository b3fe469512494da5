"""The need for further runs as text: assumptions, limits of the advice, and the next run."""

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


def limit_lines(plan: Plan) -> list[str]:
    """Returns why a longer draft is not advised: few observations, or captured graphs."""
    lines = []
    timed, best = plan.price.timed, plan.optimal_gamma
    if timed and best not in timed and plan.advice.named not in plan.within(plan.near):
        lines.append(
            f"K = {best} ({plan.curve.improvement_factor[best - 1]:.2f} times) was not timed, and "
            f"only K that were are advised: 'specplan validate --gamma {best}' measures it."
        )
    if plan.most_gamma is not None and plan.advice.named > 0:
        lines.append(
            f"No position beyond {plan.acceptance.observed_gamma} was observed, so at most "
            f"K = {plan.most_gamma} is advised: run K = {plan.advice.named}, then look again."
        )
    elif plan.extrapolated_at(plan.advice.gamma) and plan.advice.next_run is None:
        lines.append(f"K = {plan.advice.gamma} was not observed: run it, and look again.")
    wall = plan.price.wall
    if wall is not None:
        batch = plan.price.batch
        crossed = plan.curve.gamma[wall.crossed(batch, plan.curve.gamma)]
        if wall.beyond(batch, 0):
            lines.append(
                f"Even the baseline's step of {wall.size(batch, 0)} {wall.unit} is larger than the "
                f"captured graphs ({wall.most}): prices here are not known well. {wall.flag} moves "
                "the limit."
            )
        elif len(crossed) > 0 and crossed[0] <= max(plan.advice.best + 1, 8):
            lines.append(
                f"K = {crossed[0]} would need {wall.size(batch, crossed[0])} {wall.unit} a step, "
                f"and graphs are captured up to {wall.most}: it can be far slower, and is not "
                f"advised. {wall.flag} moves the limit."
            )
    return lines


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
