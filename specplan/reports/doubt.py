"""What a plan says where its cost is in doubt: intervals, the advice, the run to try next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

    if advice.gamma > 0:
        tokens = "1 token" if advice.gamma == 1 else f"{advice.gamma} tokens"
        if advice.certain:
            lines.append(f"Draft {tokens} per block: {gains(advice.gamma)}")
        else:
            lines.append(
                "Do not speculate yet: no gain is certain. If you try, draft "
                f"{tokens} per block: {gains(advice.gamma)}"
            )
        if advice.best != advice.gamma:
            lines.append(f"Gamma {advice.best} is best on average, and not significantly better.")
    else:
        top = int(gain.middle.argmax()) + 1
        lines.append(f"On average no gamma gains: gamma {top} has {gains(top)}")
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
        "ms_per_token": doubt.milliseconds.middle.tolist(),
        "ms_per_token_low": doubt.milliseconds.low.tolist(),
        "ms_per_token_high": doubt.milliseconds.high.tolist(),
        "tokens_per_second": (1e3 / doubt.milliseconds.middle).tolist(),
    }
