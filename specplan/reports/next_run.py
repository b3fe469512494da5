"""The proposed next run as text: the option that adds it, what it decides, and its worth."""

import math
from collections.abc import Sequence

from simulator.choice.curve import CurvePoint
from simulator.choice.plan import Plan
from simulator.cost.fitted.runs import USUAL_ERROR
from simulator.cost.setting import DEFAULT_CONTEXT
from simulator.numerics.intervals import deviations

# An interval is wide if its upper end is this many times its lower end.
_WIDE = 2.5
_LAUNCHES = (
    "some servers launch a draft model's kernels one by one (0.2 to 28 ms a drafted token outside "
    "of passes, in public measurements), others do not, and no run shows which yours does."
)


def wide_lines(rows: Sequence[Plan], places: Sequence[str] = ("",)) -> list[str]:
    """Returns why the interval of the first wide speed-up is wide, and what runs make of it.

    places: where each row is, such as " at batch 8" or " of eagle3"; "" if there is one row.
    """
    for row, place in zip(rows, places, strict=True):
        point = row.point(row.advice.named)
        if row.setting.fits and _wide(row, point):
            why = "no run of your server is in the evidence."
            if row.advice.undecided:
                why = _LAUNCHES
            return [
                f"The low end{place} ({point.low:.2f}) is far below {point.improvement_factor:.2f} "
                f"because {why} One run at K = 0 and one at K = {point.gamma} make the speed-up "
                f"exact to about ± {_after_runs():.0f} %."
            ]
    return []


def _wide(plan: Plan, point: CurvePoint) -> bool:
    posterior = plan.cost.posterior
    known = posterior is None or bool(posterior.runs) or point.gamma == 0
    return not known and point.high >= _WIDE * point.low


def _after_runs() -> float:
    """Returns the error in per cent of a measured speed-up, which has the errors of two runs."""
    return 100 * math.expm1(deviations() * math.sqrt(2) * USUAL_ERROR)


def next_lines(plan: Plan) -> list[str]:
    """Returns a sentence with the next run, the option that adds it, and its expected gain."""
    if plan.advice.next_run is None:
        return []
    gamma, _, rival = following = plan.advice.next_run
    if gamma == 0:
        also = f" and K = {rival}" * (rival > 0)
        runs = [_added(plan, gamma) for gamma in ((0, rival) if also else (0,))]
        return [f"Next: run K = 0{also}, and add {' '.join(runs)}."]
    decides = "whether to speculate"
    if rival > 0:
        decides = f"between K = {min(gamma, rival)} and K = {max(gamma, rival)}"
    return [
        f"Next: run K = {gamma}, and add {_added(plan, gamma)}. It decides "
        f"{decides}: knowing it is worth {following.gain_percent:.1f} % on average."
    ]


def _added(plan: Plan, gamma: int) -> str:
    """Returns the option `--run …` for a run at gamma; users replace its MS and L by numbers."""
    most, point = plan.acceptance.observed_gamma, plan.cost.point
    load = ",length=L" if most is not None and gamma > most else ""
    if point is not None and point.batch > 1:
        load += f",batch={point.batch}"
    if point is not None and point.context != DEFAULT_CONTEXT:
        load += f",context={point.context}"
    return f"--run gamma={gamma},tpot=MS{load}"
