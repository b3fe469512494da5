"""The JSON object of `specplan plan`: one plan with its curve, or rows of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.acceptance.acceptance import IID_TOLERANCE, Iid, iid_error
from simulator.choice.curve import baseline_seconds, speed_up, token_seconds
from simulator.choice.walltime import improvement_factor, lower_bound, oracle_improvement_factor
from simulator.numerics.intervals import CONFIDENCE
from specplan.reports.advice import break_evens
from specplan.reports.deployment import cost_json, load_json, of_loads, schedules_json
from specplan.reports.possible import possible_plan
from specplan.reports.samplings import samplings_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simulator.choice.advice import NextRun
    from simulator.choice.plan import Plan
    from specplan.reports.basis import Basis


def plans_json(rows: Sequence[Plan], basis: Basis) -> dict[str, Any]:
    """Returns the JSON object of `specplan plan`: one plan with its curve, or rows of several."""
    if len(rows) == 1:
        return plan_json(rows[0], basis)
    data: dict[str, Any] = {"rows": [_fields(row, basis) for row in rows]}
    if of_loads(rows):
        data["schedule"] = schedules_json(rows, basis.only)
    return data


def plan_json(plan: Plan, basis: Basis) -> dict[str, Any]:
    """Returns the JSON object of one plan, with one object per gamma in its curve."""
    curve = plan.curve
    columns = {
        "gamma": curve.gamma,
        "expected_tokens": curve.expected_tokens,
        "improvement_factor": curve.improvement_factor,
        "operations_factor": curve.operations_factor,
        "extrapolated": curve.extrapolated,
        "beyond_graphs": curve.beyond_graphs,
        "gain_probability": curve.gains.exceeds(1.0)
        if curve.in_doubt
        else np.full(len(curve.gamma), None, dtype=object),
        **(_doubt_points(plan) if curve.in_doubt else {}),
    }
    points = zip(*(each.tolist() for each in columns.values()), strict=True)
    data = {
        **_fields(plan, basis),
        "curve": [dict(zip(columns, point, strict=True)) for point in points],
    }
    if basis.other is not None and basis.draft_sampling is not None:
        data["by_draft_sampling"] = samplings_json(plan, basis.other, basis.draft_sampling)
    return possible_plan(plan, data, predicted=(data.get("cost") or {}).get("evidence") == 0)


def _fields(plan: Plan, basis: Basis) -> dict[str, Any]:
    """Returns the JSON object of one plan without its curve."""
    acceptance, cost = plan.acceptance, plan.price.cost
    alpha, c, gamma = acceptance.alpha, cost.c, plan.gamma
    error = iid_error(acceptance, max_gamma=len(plan.curve.gamma))
    textbook = cost.theorem8 and error is None and not acceptance.is_lower_bound
    break_even_alpha, break_even_c = break_evens(plan)
    return {
        "alpha": alpha,
        "alpha_iid": alpha if basis.counted else None,
        "c": c,
        "c_by_sizes": None
        if plan.price.expected_c is None
        else {
            "share": plan.price.draft_share,
            **dict(zip(("low", "high"), plan.price.expected_c, strict=True)),
            "questioned": plan.price.questions_c,
        },
        "c_hat": plan.c_hat,
        "optimal_gamma": plan.optimal_gamma,
        "gamma_near": plan.gamma_near,
        "near": plan.near,
        "confidence": CONFIDENCE,
        "gamma": gamma,
        "expected_tokens": plan.expected_tokens,
        "improvement_factor": plan.improvement_factor,
        "improvement_factor_iid": float(speed_up(Iid(alpha), cost, gamma)),
        "improvement_factor_theorem8": float(improvement_factor(alpha, gamma, c)),
        "operations_factor": plan.operations_factor,
        "memory_access_factor": 1 / plan.expected_tokens,
        "accepted_fraction": _accepted_fraction(plan),
        "batch": plan.price.batch,
        "verification_free": cost.verification_free,
        "tokens_per_second": plan.tokens_per_second,
        "baseline_tokens_per_second": plan.baseline_tokens_per_second,
        "oracle_improvement_factor": (
            float(oracle_improvement_factor(alpha, c)) if textbook else None
        ),
        "lower_bound": float(lower_bound(alpha, c)) if textbook else None,
        "break_even_alpha": break_even_alpha,
        "break_even_c": break_even_c,
        "cap_binds": plan.cap_binds,
        "acceptance": {
            "kind": acceptance.kind,
            "observed_gamma": acceptance.observed_gamma,
            "iid_consistent": None if error is None else abs(error[0]) <= IID_TOLERANCE,
            "iid_error": None if error is None else error[0],
            "iid_error_gamma": None if error is None else error[1],
        },
        "c_hat_is_c": basis.c_hat_is_c,
        "draft_sampling": basis.draft_sampling,
        "verification": basis.verification,
        "quiet": basis.quiet,
        "notes": basis.notes,
        "advised_gamma": plan.advised_gamma,
        "test_gamma": plan.advice.test_gamma,
        "gain_certain": plan.gain_certain,
        "gain_probability": plan.advice.gain_probability,
        **load_json(plan),
        **_doubt_fields(plan),
    }


def _accepted_fraction(plan: Plan) -> float | None:
    """Returns accepted over drafted tokens; each call adds one token that was not drafted."""
    drafted = float(plan.acceptance.drafted_per_token(plan.gamma)) if plan.gamma > 0 else 0.0
    return None if drafted == 0 else (1 - 1 / plan.expected_tokens) / drafted


def _doubt_fields(plan: Plan) -> dict[str, Any]:
    """Returns the keys of uncertain numbers with their intervals; none if all are exact."""
    at, posterior, following = plan.at, plan.price.posterior, plan.advice.next_run
    interval: dict[str, Any] = {}
    if plan.curve.in_doubt:
        interval = {
            "improvement_factor_low": 1.0 if at is None else float(at.low[0]),
            "improvement_factor_high": 1.0 if at is None else float(at.high[0]),
            "next_run": None
            if following is None
            else {"gamma": following.gamma, "reason": _reason(following)},
        }
    if posterior is None:
        return interval
    load = plan.price.load
    return {
        **interval,
        "cost": {
            "kind": "runs" if load is None else "roofline",
            "evidence": len(posterior.runs),
            **(cost_json(load) or {"model": None, "source": None}),
        },
        "baseline_ms_per_token": 1e3 * float(baseline_seconds(plan.price).quantile(0.5)[0]),
    }


def _reason(following: NextRun) -> str:
    if following.gamma == 0:
        return "no run without speculation: no measured time is compared with a baseline"
    return f"expected to bring {following.gain:.1%} over gamma {following.rival}"


def _doubt_points(plan: Plan) -> dict[str, NDArray[Any]]:
    """Returns the uncertain values of the curve: for each key an array over gamma."""
    points = {"improvement_factor_low": plan.curve.low, "improvement_factor_high": plan.curve.high}
    if plan.price.posterior is None:
        return points
    law = token_seconds(plan.acceptance, plan.price, plan.curve.gamma)
    low, middle, high = (1e3 * each for each in law.interval())
    return points | {
        "ms_per_token": middle,
        "ms_per_token_low": low,
        "ms_per_token_high": high,
        "tokens_per_second": 1e3 / middle,
    }
