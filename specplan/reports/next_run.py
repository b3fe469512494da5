"""The proposed next run as text: the option that adds it, what it decides, and its worth."""

import math
from collections.abc import Sequence
from functools import partial

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


def next_lines(plan: Plan, *, to: str = "this command") -> list[str]:
    """Returns a sentence with the next run, the option that adds it, and its expected gain.

    to: the command that takes the option.
    """
    if plan.advice.next_run is None:
        return []
    gamma, _, rival = following = plan.advice.next_run
    most, load = plan.acceptance.observed_gamma, plan.setting.load
    line = partial(
        next_line,
        batch=plan.setting.batch,
        context=None if load is None else load.context,
        counted=most is not None and (gamma or rival) > most,
        to=to,
    )
    if gamma == 0:
        return [line([0, rival] if rival > 0 else [0])]
    decides = "whether to speculate"
    if rival > 0:
        decides = f"between K = {min(gamma, rival)} and K = {max(gamma, rival)}"
    return [
        f"{line([gamma])} It decides {decides}: knowing it is worth "
        f"{following.gain_percent:.1f} % on average."
    ]


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
    where = f"at batch {batch}" + f" and context {context}" * (context is not None)
    known = [f"batch={batch}"] * (batch > 1)
    known += [f"context={context}"] * (context not in (None, DEFAULT_CONTEXT))
    runs = [
        ",".join([f"gamma={gamma}", "tpot=MS", *["length=L"] * (counted and gamma > 0), *known])
        for gamma in gammas
    ]
    what = "MS: milliseconds per token of one request"
    what += "; L: tokens per call, the mean acceptance length" * any("=L" in run for run in runs)
    named = " and ".join(f"K = {gamma}" for gamma in gammas)
    options = " ".join(f"--run {run}" for run in runs)
    return f"Next: run {named} {where}, and add {options} to {to} ({what})."
