"""The advice to keep a run whose drafts ended early, and what an observed server gains today."""

from collections.abc import Sequence
from typing import Any

from simulator.choice.kept import FastestRun, KeptRun
from simulator.choice.odds import percentage
from simulator.choice.plan import Plan
from simulator.cost.fitted.runs import Run, pooled

# Begins a comment of exported flags that keep a run.
KEPT_RUN = "# These run today with drafts that end early"


def kept_lines(plan: Plan, kept: KeptRun) -> list[str]:
    """Returns the advice to keep the run."""
    named, lines = plan.advice.named, [_keep(kept)]
    if named > 0:
        point = plan.point(named)
        lines.append(
            "The table is of drafts that all have K tokens, as with p-min 0. Expected of its "
            f"K = {named}: {1e3 * plan.cost.baseline_seconds / point.improvement_factor:.2f} ms a "
            f"token, {point.improvement_factor:.2f} times ({point.low:.2f} to {point.high:.2f}). "
            "Change to it only after a run of it."
        )
    return lines


def _keep(kept: KeptRun) -> str:
    run, without = kept.run, "times the speed without speculation"
    gained = "" if kept.gain is None else f"{kept.gain:.2f} {without}, "
    return (
        f"Keep K = {run.gamma} with the p-min that runs, or the rule that ends its drafts: {gained}"
        f"measured ({1e3 * run.seconds_per_token:.2f} ms a token; drafts of {run.mean_drafted:.1f} "
        "tokens on average)."
    )


def kept_json(kept: KeptRun | None) -> dict[str, Any] | None:
    """Returns the JSON object of a run to keep; None if there is none."""
    return kept and {
        "sentence": _keep(kept),
        "gamma": kept.run.gamma,
        "ms_per_token": 1e3 * kept.run.seconds_per_token,
        "drafted_per_block": kept.run.mean_drafted,
        "improvement_factor": kept.gain,
    }


def wait_text(plan: Plan, fastest: FastestRun, gain: str) -> str:
    """Returns the advice to keep the fastest run until K was run; gain: the speed-up of K."""
    gamma = plan.advice.named
    if fastest.gamma == 0:
        return f"Keep K = 0, no speculation, for now; K = {gamma} may give {gain}: run it."
    return (
        f"Keep K = {fastest.gamma}, the fastest run ({fastest.gain:.2f} times), for now; "
        f"K = {gamma} may give {gain}, and is faster with a probability of "
        f"{percentage(fastest.behind)}: run it."
    )


def fastest_json(plan: Plan) -> dict[str, Any] | None:
    """Returns the JSON object of the run to keep until the advised γ was run; None if it was."""
    fastest = plan.fastest_run
    return fastest and {
        "gamma": fastest.gamma,
        "improvement_factor": fastest.gain,
        "advised_is_faster_probability": fastest.behind,
    }


def kept_comment(kept: KeptRun) -> str:
    """Returns a comment for exported flags that keep the run."""
    gained = f", and gain {kept.gain:.2f} times, measured" if kept.gain is not None else ""
    return f"{KEPT_RUN}{gained}. Write your p-min, if you set one."


def today_line(run: Run, runs: Sequence[Run], *, stated: int | None) -> str:
    """Returns what an observed server gains today.

    run: the observed time. runs: those that the user states. stated: γ, None: at least `run.gamma`.
    """
    means = pooled([zero for zero in runs if zero.load == run.load and zero.gamma == 0])
    batch = "" if run.load.batch == 1 else f" at batch {run.load.batch}"
    gamma = f"K = {run.gamma}" if stated is not None else f"K = {run.gamma} or more"
    now = f"Today{batch}: {gamma}, {1e3 * run.seconds_per_token:.2f} ms a token"
    if not means:
        where = "" if run.load.batch == 1 else f",batch={run.load.batch}"
        return f"{now}. What it gains needs --run gamma=0,tpot=MS{where}."
    plain = means[0].seconds_per_token
    return (
        f"{now}, {plain / run.seconds_per_token:.2f} times the speed without speculation "
        f"({1e3 * plain:.2f} ms), measured."
    )


def running_text(plan: Plan, gamma: int) -> str:
    """Returns whether to keep the draft length that a server runs, and how sure that is.

    The rival of the advised one is the next best. "" if another sentence names the K to keep.
    """
    advised, curve = plan.advised_gamma, plan.curve
    factors = dict(zip(curve.gamma.tolist(), curve.improvement_factor.tolist(), strict=True))
    others = {other: factor for other, factor in factors.items() if other != advised}
    rival = gamma if gamma != advised else max(others, key=others.__getitem__, default=0)
    if advised == 0 or plan.kept is not None or rival not in others:
        return ""
    opening = f"Keep K = {gamma}, which the server runs: it beats K = {rival}, the next best"
    if gamma == advised and factors[rival] > factors[advised]:
        why = f": no K is more than {100 * plan.near:g} % faster"
        return f"Keep K = {gamma}, which the server runs{'' if plan.advice.measured else why}."
    if gamma != advised:
        opening = f"The server runs K = {gamma}. K = {advised} is faster"
    odds = percentage(curve.gains.exceeds_other(advised - 1, rival - 1))
    sure = f", with a probability of {odds}" if curve.in_doubt else ""
    return f"{opening}{sure} ({factors[advised]:.2f} against {factors[rival]:.2f} times)."
