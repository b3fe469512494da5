"""The advice to keep a run whose drafts ended early, and what an observed server gains today."""

from collections.abc import Sequence
from textwrap import fill, indent
from typing import Any

from simulator.choice.kept import FastestRun, KeptRun
from simulator.choice.odds import percentage
from simulator.choice.plan import Plan
from simulator.cost.fitted.runs import Run, pooled
from specplan.reports.next_run import runs_named

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


def confirm_text(plan: Plan, fastest: FastestRun) -> str:
    """Returns the advice to run K, which was not run, and to keep it or go back to the fastest."""
    point = plan.point(plan.advice.named)
    expected = (
        f"Expected of K = {point.gamma}: {point.improvement_factor:.2f} times the speed without "
        f"speculation ({point.low:.2f} to {point.high:.2f})"
    )
    if fastest.gamma > 0:
        more = 100 * (point.improvement_factor / fastest.gain - 1)
        odds = percentage(fastest.behind)
        expected += f", {more:.0f} % faster than K = {fastest.gamma} (odds {odds})"
    return f"{confirm_action(plan, fastest)} {expected}."


def confirm_lines(plan: Plan) -> list[str]:
    """Returns `confirm_text` of a plan of several loads, with its batch; [] if its K was run."""
    fastest = plan.fastest_run
    if fastest is None or plan.only is not None:
        return []
    text = confirm_text(plan, fastest)
    return [f"At batch {plan.setting.batch}, {text[0].lower()}{text[1:]}"]


def confirm_action(plan: Plan, fastest: FastestRun) -> str:
    """Returns the action that `confirm_text` advises, without what is expected of it."""
    runs = runs_named([*({0} - {run.gamma for run in plan.cost.own_runs}), plan.advice.named])
    rival = f"K = {fastest.gamma}, the fastest run ({fastest.gain:.2f} times)"
    if fastest.gamma == 0:
        rival = "no speculation, the fastest run"
    return f"Run {runs} next, and keep K = {plan.advice.named} if it is faster than {rival}."


def fastest_json(plan: Plan) -> dict[str, Any] | None:
    """Returns the JSON object of the run to go back to; None if the advised γ was run."""
    fastest = plan.fastest_run
    return fastest and {
        "gamma": fastest.gamma,
        "improvement_factor": fastest.gain,
        "advised_is_faster_probability": fastest.behind,
    }


def confirm_comment(plan: Plan, at: str) -> list[str]:
    """Returns a comment for exported flags to run the advised K; [] if it was run.

    Where no speculation is the fastest run, `cautious` asks for the run.
    at: "At batch 8: " or "".
    """
    fastest = plan.fastest_run
    if plan.only is not None or fastest is None or fastest.gamma == 0:
        return []
    return [indent(fill(at + confirm_action(plan, fastest), 96), "# ")]


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
    if advised == 0 or plan.kept or plan.fastest_run or rival not in others:
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
