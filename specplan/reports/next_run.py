"""The proposed next run as text: the option that adds it, what it decides, and its worth."""

import math

from simulator.choice.plan import Plan
from simulator.cost.fitted.runs import USUAL_ERROR
from simulator.cost.setting import DEFAULT_CONTEXT
from simulator.numerics.intervals import deviations

# An interval is wide if its upper end is this many times its lower end.
_WIDE = 2.5


def next_lines(plan: Plan) -> list[str]:
    """Returns a sentence with the next run, the option that adds it, and its expected gain."""
    if plan.advice.next_run is None:
        return []
    gamma, _, rival = following = plan.advice.next_run
    if gamma == 0:
        also = f" and K = {rival}" * (rival > 0)
        runs = [_added(plan, gamma) for gamma in ((0, rival) if also else (0,))]
        return [f"Next: run K = 0{also}, and add {' '.join(runs)}.{_narrowed(plan, rival)}"]
    decides = "whether to speculate"
    if rival > 0:
        decides = f"between K = {min(gamma, rival)} and K = {max(gamma, rival)}"
    return [
        f"Next: run K = {gamma}, and add {_added(plan, gamma)}. It decides "
        f"{decides}: knowing it is worth {following.gain_percent:.1f} % on average."
    ]


def _narrowed(plan: Plan, gamma: int) -> str:
    """Returns the error of the speed-up after runs at 0 and gamma; "" if it is known better."""
    posterior = plan.cost.posterior
    low, high = plan.point(gamma).low, plan.point(gamma).high
    if posterior is None or posterior.runs or gamma == 0 or high < _WIDE * low:
        return ""
    # A measured speed-up has the errors of its two runs.
    width = 100 * math.expm1(deviations() * math.sqrt(2) * USUAL_ERROR)
    return f" After both runs the speed-up of K = {gamma} is exact to about ± {width:.0f} %."


def _added(plan: Plan, gamma: int) -> str:
    """Returns the option `--run …` for a run at gamma; users replace its MS and L by numbers."""
    most, point = plan.acceptance.observed_gamma, plan.cost.point
    load = ",length=L" if most is not None and gamma > most else ""
    if point is not None and point.batch > 1:
        load += f",batch={point.batch}"
    if point is not None and point.context != DEFAULT_CONTEXT:
        load += f",context={point.context}"
    return f"--run gamma={gamma},tpot=MS{load}"
