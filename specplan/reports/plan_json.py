"""Plans as the JSON object of `specplan plan`."""

from collections.abc import Sequence
from typing import Any

from simulator.acceptance.acceptance import IID_TOLERANCE, Iid, iid_error
from simulator.choice.curve import baseline_seconds, speed_up
from simulator.choice.plan import Plan
from simulator.choice.walltime import improvement_factor, lower_bound, oracle_improvement_factor
from simulator.numerics.intervals import CONFIDENCE
from specplan.reports.advice import break_evens
from specplan.reports.deployment import cost_json, of_loads, schedules_json
from specplan.reports.plan import Origin, points_of, require_possible

_OF_LOAD = (
    "gpu", "dtype", "tp", "draft_kind", "context", "needed_gb", "fits", "most_batch", "estimated",
)  # fmt: skip


def plans_json(rows: Sequence[Plan], origin: Origin) -> dict[str, Any]:
    """Returns the JSON object of `specplan plan`: one plan with its curve, or a list of plans."""
    if len(rows) == 1:
        return plan_json(rows[0], origin)
    data: dict[str, Any] = {"rows": [plan_fields(row, origin) for row in rows]}
    if of_loads(rows):
        data["schedule"] = schedules_json(rows, origin.only)
    return data


def plan_json(plan: Plan, origin: Origin) -> dict[str, Any]:
    """Returns the JSON object of one plan; raises ArithmeticError on impossible predictions."""
    data = {**plan_fields(plan, origin), "curve": points_of(plan)}
    if origin.other is not None and origin.draft_sampling is not None:
        from specplan.reports.profile import samplings_json

        data["by_draft_sampling"] = samplings_json(plan, origin.other, origin.draft_sampling)
    return require_possible(plan, data)


def plan_fields(plan: Plan, origin: Origin) -> dict[str, Any]:
    """Returns the JSON object of one plan without its curve."""
    acceptance, price, advice = plan.acceptance, plan.price, plan.advice
    alpha, cost, sizes = acceptance.alpha, price.cost, price.expected_c
    gamma, tokens, factor, operations, *_ = plan.at
    error, error_gamma = iid_error(acceptance, max_gamma=len(plan.curve.gamma)) or (None, None)
    c_by_sizes = sizes and {
        "share": price.draft_share, "low": sizes[0], "high": sizes[1],
        "questioned": price.questions_c,
    }  # fmt: skip
    textbook = cost.theorem8 and error is None and not acceptance.is_lower_bound
    drafted = float(acceptance.drafted_per_token(gamma)) if gamma > 0 else 0.0
    break_even_alpha, break_even_c = break_evens(plan)
    low, high = price.published_speeds(plan.tokens_per_second) or (None, None)
    return {
        "alpha": alpha,
        "alpha_iid": alpha if origin.counted else None,
        "c": cost.c,
        "c_by_sizes": c_by_sizes,
        "c_hat": plan.c_hat,
        "optimal_gamma": plan.optimal_gamma,
        "gamma_near": min(plan.within(plan.near)),
        "near": plan.near,
        "confidence": CONFIDENCE,
        "gamma": gamma,
        "expected_tokens": tokens,
        "improvement_factor": factor,
        "improvement_factor_iid": float(speed_up(Iid(alpha), cost, gamma)),
        "improvement_factor_theorem8": float(improvement_factor(alpha, gamma, cost.c)),
        "operations_factor": operations,
        "memory_access_factor": 1 / tokens,
        # Each call adds one token that was not drafted.
        "accepted_fraction": (1 - 1 / tokens) / drafted if drafted else None,
        "batch": price.batch,
        "verification_free": cost.verification_free,
        "tokens_per_second": plan.tokens_per_second,
        "baseline_tokens_per_second": plan.baseline_tokens_per_second,
        "oracle_improvement_factor": (
            float(oracle_improvement_factor(alpha, cost.c)) if textbook else None
        ),
        "lower_bound": float(lower_bound(alpha, cost.c)) if textbook else None,
        "break_even_alpha": break_even_alpha,
        "break_even_c": break_even_c,
        "cap_binds": plan.cap_binds,
        "acceptance": {
            "kind": acceptance.kind,
            "observed_gamma": acceptance.observed_gamma,
            "iid_consistent": None if error is None else abs(error) <= IID_TOLERANCE,
            "iid_error": error,
            "iid_error_gamma": error_gamma,
        },
        "c_hat_is_c": origin.c_hat_is_c,
        "draft_sampling": origin.draft_sampling,
        "verification": origin.verification,
        "quiet": origin.quiet,
        "notes": origin.notes,
        "advised_gamma": plan.advised_gamma,
        "test_gamma": advice.test_gamma,
        "gain_certain": advice.certain if plan.curve.in_doubt else None,
        "gain_probability": advice.gain_probability,
        **{name: getattr(price.load, name, None) for name in _OF_LOAD},
        "tokens_per_second_low": low,
        "tokens_per_second_high": high,
        **_doubt_fields(plan),
    }


def _doubt_fields(plan: Plan) -> dict[str, Any]:
    """Returns the JSON fields that only uncertain plans have, e.g. intervals and the next run."""
    price, following = plan.price, plan.advice.next_run
    fields: dict[str, Any] = {}
    if plan.curve.in_doubt:
        fields["improvement_factor_low"] = plan.at.low
        fields["improvement_factor_high"] = plan.at.high
        reason = "no run without speculation: no measured time is compared with a baseline"
        if following is not None and following.gamma > 0:
            reason = f"expected to bring {following.gain:.1%} over gamma {following.rival}"
        fields["next_run"] = following and {"gamma": following.gamma, "reason": reason}
    if price.posterior is not None:
        fields["cost"] = {
            "kind": "runs" if price.load is None else "roofline",
            "evidence": len(price.posterior.runs),
            **(cost_json(price.load) or {"model": None, "source": None}),
        }
        fields["baseline_ms_per_token"] = 1e3 * float(baseline_seconds(price).quantile(0.5)[0])
    return fields
