"""The proposed next run as text: the option that adds it, what it decides, and its worth."""

import math
from collections.abc import Sequence

from simulator.choice.advice import NextRun
from simulator.choice.curve import CurvePoint
from simulator.choice.odds import percentage
from simulator.choice.plan import Plan
from simulator.cost.fitted.runs import USUAL_ERROR
from simulator.cost.setting import DEFAULT_CONTEXT
from simulator.numerics.intervals import deviations

# Measured by benchmarks/published_advice.py.
NOT_CALIBRATED = (
    "Chances of a gain are not reliable for draft models that were never run: of public loads none "
    "of 10 gained at a stated 50 to 75 %, and 9 of 12 at 75 to 95 %."
)
# An interval is wide if its upper end is this many times its lower end.
WIDE = 2.5
LAUNCHES = (
    "some servers launch a draft model's kernels one by one (0.2 to 28 ms a drafted token outside "
    "of passes, in public measurements), others do not (--draft-launch), and no run shows which "
    "yours does."
)


def wide_lines(rows: Sequence[Plan], places: Sequence[str] = ("",)) -> list[str]:
    """Returns why the interval of the first wide speed-up is wide, and what runs make of it.

    places: where each row is, such as " at batch 8" or " of eagle3"; "" if there is one row.
    """
    for row, place in zip(rows, places, strict=True):
        point = row.point(row.advice.named)
        if row.setting.fits and _wide(row, point):
            why = LAUNCHES if row.advice.undecided else "no run of your server is in the evidence."
            return [
                f"The low end{place} ({point.low:.2f}) is far below {point.improvement_factor:.2f} "
                f"because {why} One run at K = 0 and one at K = {point.gamma} make this speed-up "
                f"exact to about ± {_after_runs():.0f} %."
            ]
    return []


def _wide(plan: Plan, point: CurvePoint) -> bool:
    posterior = plan.cost.posterior
    known = posterior is None or bool(posterior.runs) or point.gamma == 0
    return not known and point.high >= WIDE * point.low


def _after_runs() -> float:
    """Returns the error in per cent of a measured speed-up, which has the errors of two runs."""
    return 100 * math.expm1(deviations() * math.sqrt(2) * USUAL_ERROR)


def next_lines(plan: Plan, *, to: str = "this command") -> list[str]:
    """Returns a sentence with the next run, the option that adds it, and its expected gain.

    to: the command that takes the option.
    """
    following, runs, (context, batch) = plan.advice.next_run, next_runs(plan), plan.place
    if not runs:
        return []
    most = plan.acceptance.observed_gamma
    line = next_line(
        runs,
        batch=batch,
        context=context or None,
        counted=most is not None and max(runs) > most,
        to=to,
    )
    if following is None or following.gamma == 0 or plan.fastest_run is not None:
        return [line]  # the advice itself says why
    worth = "" if confirms(plan) else f": {_worth(following)}"
    return [f"{line} {expected(plan) or _decides(following)}{worth}."]


def confirms(plan: Plan) -> bool:
    """Returns whether the next run is of the advised draft length."""
    following = plan.advice.next_run
    return following is not None and following.gamma == plan.advice.gamma > 0


def next_reason(plan: Plan, following: NextRun) -> str:
    """Returns why to make the next run, as half a sentence."""
    if following.gamma == 0:
        return "speed-ups compare with a run without speculation, and there is none"
    if confirms(plan):
        rival = gamma_named(following.rival)
        return f"K = {following.gamma} is advised and was not run; compared with {rival}"
    return _worth(following)


def _decides(following: NextRun) -> str:
    if following.rival == 0:
        return "It decides whether to speculate"
    low, high = sorted((following.gamma, following.rival))
    return f"It decides between K = {low} and K = {high}"


def _worth(following: NextRun) -> str:
    """Returns what serving the faster of two draft lengths gains; the rival is served today."""
    rival = gamma_named(following.rival)
    return (
        f"on average the faster of K = {following.gamma} and {rival} is "
        f"{following.gain_percent:.1f} % faster than {rival}"
    )


def gamma_named(gamma: int) -> str:
    """Returns a draft length as text; 0: "no speculation"."""
    return f"K = {gamma}" if gamma > 0 else "no speculation"


def next_runs(plan: Plan) -> list[int]:
    """Returns the draft lengths to run next, 0 first; [] if none is worth its time."""
    following = plan.advice.next_run
    if following is not None:
        both = following.gamma == 0 < following.rival
        return [0, following.rival] if both else [following.gamma]
    if plan.cost.posterior is None:
        return []
    from specplan.reports.first_runs import first_runs

    return sorted(first_runs(plan))


def deciding(rows: Sequence[Plan]) -> Plan | None:
    """Returns the plan of several loads whose runs to make next; None if none needs a run.

    It is the first that needs a run before its flags are used, else the first that proposes one.
    """
    from specplan.reports.first_runs import first_runs

    some = [row for row in rows if next_runs(row)]
    return next((row for row in some if first_runs(row, rows)), some[0] if some else None)


def runs_text(gammas: Sequence[int], context: int | None, batch: int) -> str:
    """Returns which draft lengths to run at which load; context None or 0: it is not known."""
    where = f" and context {context}" * bool(context)
    return f"{runs_named(gammas)} at batch {batch}{where}"


def runs_named(gammas: Sequence[int]) -> str:
    """Returns draft lengths to run as text."""
    return " and ".join(f"K = {gamma}" + " (no speculation)" * (gamma == 0) for gamma in gammas)


def expected(plan: Plan) -> str:
    """Returns what the next γ may give where the advised one was run, as half a sentence."""
    gamma, kept = max(next_runs(plan), default=0), plan.advice.gamma
    if not plan.advice.measured or gamma in (0, kept):
        return ""
    point, odds = plan.point(gamma), plan.curve.gains.exceeds_other(gamma - 1, kept - 1)
    return (
        f"K = {gamma} may give {point.improvement_factor:.2f} times ({point.low:.2f} to "
        f"{point.high:.2f}), and is faster than K = {kept} with a probability of "
        f"{percentage(odds)}"
    )


def next_line(
    gammas: Sequence[int],
    *,
    batch: int,
    context: int | None,
    counted: bool = False,
    to: str = "this command",
) -> str:
    """Returns the sentence that asks for runs at one load, with the options that add them.

    gammas: draft lengths to run; 0 is no speculation.
    batch, context: load of the runs; context None: it is not known.
    counted: whether the tokens per call of runs with drafts must be stated, too.
    to: the command that takes the options.
    """
    options = run_options(gammas, batch=batch, context=context, counted=counted)
    runs, what = runs_text(gammas, context, batch), numbers(options)
    return f"Next: run {runs}, and add {options} to {to} ({what})."


def run_options(
    gammas: Sequence[int], *, batch: int, context: int | None, counted: bool = False
) -> str:
    """Returns the options that add runs, with MS and L for their numbers; see `next_line`."""
    known = [f"batch={batch}"] * (batch > 1)
    known += [f"context={context}"] * (context not in (None, DEFAULT_CONTEXT))
    runs = (
        ",".join([f"gamma={gamma}", "tpot=MS", *["length=L"] * (counted and gamma > 0), *known])
        for gamma in gammas
    )
    return " ".join(f"--run {run}" for run in runs)


def numbers(options: str) -> str:
    """Returns the meanings of the numbers that replace MS and L in options."""
    what = "MS: milliseconds per token of one request"
    return what + "; L: tokens per call, the mean acceptance length" * ("=L" in options)
