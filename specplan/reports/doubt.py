"""What a plan says where its cost is in doubt: intervals, the advice, the run to try next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.choice.advice import certainty
from specplan.reports.table import MS, TOKENS, Column

if TYPE_CHECKING:
    from simulator.choice.grid import Row
    from simulator.choice.in_doubt import DoubtfulPlan


def doubt_columns(doubt: DoubtfulPlan, *, batch: int) -> list[Column[int]]:
    """Returns columns by the index of gamma: the speed-up's interval, a token's time, their
    rate."""
    gain, time = doubt.speed_up, doubt.milliseconds
    return [
        Column("90 %", lambda i: f"{gain.low[i]:.2f} to {gain.high[i]:.2f}"),
        Column(MS, lambda i: f"{time.middle[i]:.2f}"),
        Column(TOKENS, lambda i: f"{1e3 * batch / time.middle[i]:.1f}"),
    ]


def doubt_lines(doubt: DoubtfulPlan) -> list[str]:
    """Returns what to run, how sure that is, and which run would decide."""
    advice, gain = doubt.advice, doubt.speed_up
    lines, alone = [], doubt.baseline_milliseconds

    def gains(gamma: int) -> str:
        at = gamma - 1
        return (
            f"{gain.middle[at]:.2f} times the speed of the target alone, "
            f"90 %: {gain.low[at]:.2f} to {gain.high[at]:.2f}."
        )

    named = advice.named
    tokens = "1 token" if named == 1 else f"{named} tokens"
    odds = _odds(advice.gain_probability)
    if advice.gamma > 0:
        lines += [f"Draft {tokens} per block: {gains(named)}", odds]
    elif advice.undecided:
        lines += [f"Measure gamma 0 and gamma {named} first. {odds}"]
        lines += [f"Gamma {named} gives {gains(named)}"]
    else:
        lines += [f"Do not speculate. {odds} Gamma {named} gives {gains(named)}"]
    if advice.next_run is not None:
        lines.append(
            f"Try gamma {advice.next_run.gamma} next, against gamma {advice.next_run.rival}, and "
            "add what it did as a --run."
        )
    lines.append(
        f"The target alone takes {alone.middle[0]:.2f} ms a token, 90 %: {alone.low[0]:.2f} to "
        f"{alone.high[0]:.2f}. Runs: {doubt.evidence}."
    )
    return lines


def _odds(probability: float | None) -> str:
    """Returns the probability of a gain as a sentence."""
    if probability is None:
        return "Nothing is in doubt."
    words = certainty(probability)
    if words == "undecided":
        return f"Undecided: the probability of a gain is {100 * probability:.0f} %."
    if words in ("likely", "almost certain"):
        return f"A gain is {words} ({100 * probability:.0f} %)."
    return f"A loss is likelier ({100 - 100 * probability:.0f} %)."


def doubt_json(row: Row) -> dict[str, Any]:
    """Returns the keys of one plan's doubt; none where its cost is in none."""
    doubt = row.doubt
    if doubt is None:
        return {}
    at, advice = row.plan.gamma - 1, doubt.advice
    low = float(doubt.speed_up.low[at]) if at >= 0 else 1.0
    high = float(doubt.speed_up.high[at]) if at >= 0 else 1.0
    following = advice.next_run
    return {
        "improvement_factor_low": low,
        "improvement_factor_high": high,
        "gain_probability": advice.gain_probability,
        "test_gamma": advice.test_gamma,
        "next_run": None
        if following is None
        else {
            "gamma": following.gamma,
            "reason": f"expected to bring {following.gain:.1%} over gamma {following.rival}",
        },
        "cost": {
            "kind": "runs" if row.price.load is None else "roofline",
            "evidence": doubt.evidence,
            "model": None if row.price.load is None else row.price.load.cost_model,
        },
        "baseline_ms_per_token": float(doubt.baseline_milliseconds.middle[0]),
    }


def doubt_points(doubt: DoubtfulPlan) -> dict[str, list[float]]:
    """Returns what the curve has besides, a list by gamma for each key."""
    return {
        "improvement_factor_low": doubt.speed_up.low.tolist(),
        "improvement_factor_high": doubt.speed_up.high.tolist(),
        "gain_probability": doubt.gain_probability.tolist(),
        "ms_per_token": doubt.milliseconds.middle.tolist(),
        "ms_per_token_low": doubt.milliseconds.low.tolist(),
        "ms_per_token_high": doubt.milliseconds.high.tolist(),
        "tokens_per_second": (1e3 / doubt.milliseconds.middle).tolist(),
    }
