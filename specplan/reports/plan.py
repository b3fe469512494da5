"""One plan as the JSON object and the text of `specplan plan`: assumptions, curve, advice."""

from dataclasses import replace
from typing import Any

from simulator.acceptance.acceptance import IID_TOLERANCE, Iid, iid_error
from simulator.choice.curve import baseline_seconds, speed_up, token_seconds
from simulator.choice.plan import Plan
from simulator.choice.walltime import improvement_factor, lower_bound, oracle_improvement_factor
from simulator.numerics.intervals import CONFIDENCE, percent
from specplan.reports.advice import advice_lines, break_evens
from specplan.reports.basis import Basis
from specplan.reports.deployment import cost_json, does_not_fit, graphs_line, load_notes
from specplan.reports.possible import blocks_take_a_step, possible
from specplan.reports.table import GAMMA, MS, TOKENS, Column, folded, table

# Number of rows shown after the best gamma, and least number of rows; --json has all rows.
_ROWS_PAST, _ROWS_LEAST = 3, 8
BEYOND = "+ beyond the observed gamma: extrapolated"
_OF_LOAD = (
    "gpu", "dtype", "tp", "draft_kind", "context", "needed_gb", "fits", "most_batch", "estimated",
)  # fmt: skip


def plan_json(plan: Plan, basis: Basis) -> dict[str, Any]:
    """Returns the JSON object of one plan; raises ArithmeticError on impossible predictions."""
    data = {**plan_fields(plan, basis), "curve": _points(plan)}
    if basis.other is not None and basis.draft_sampling is not None:
        from specplan.reports.profile import samplings_json

        data["by_draft_sampling"] = samplings_json(plan, basis.other, basis.draft_sampling)
    _, doubt = plan.acceptance.log_lengths(plan.curve.gamma)
    predicted = (data.get("cost") or {}).get("evidence") == 0 and not doubt.any()
    bounded = blocks_take_a_step(plan.price.cost, len(plan.curve.gamma))
    return possible(data, bounded=bounded, ends=predicted)


def plan_fields(plan: Plan, basis: Basis) -> dict[str, Any]:
    """Returns the JSON object of one plan without its curve."""
    acceptance, price, advice = plan.acceptance, plan.price, plan.advice
    alpha, cost, gamma, sizes = acceptance.alpha, price.cost, plan.gamma, price.expected_c
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
        "alpha_iid": alpha if basis.counted else None,
        "c": cost.c,
        "c_by_sizes": c_by_sizes,
        "c_hat": plan.c_hat,
        "optimal_gamma": plan.optimal_gamma,
        "gamma_near": plan.gamma_near,
        "near": plan.near,
        "confidence": CONFIDENCE,
        "gamma": gamma,
        "expected_tokens": plan.expected_tokens,
        "improvement_factor": plan.improvement_factor,
        "improvement_factor_iid": float(speed_up(Iid(alpha), cost, gamma)),
        "improvement_factor_theorem8": float(improvement_factor(alpha, gamma, cost.c)),
        "operations_factor": plan.operations_factor,
        "memory_access_factor": 1 / plan.expected_tokens,
        # Each call adds one token that was not drafted.
        "accepted_fraction": (1 - 1 / plan.expected_tokens) / drafted if drafted else None,
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
        "c_hat_is_c": basis.c_hat_is_c,
        "draft_sampling": basis.draft_sampling,
        "verification": basis.verification,
        "quiet": basis.quiet,
        "notes": basis.notes,
        "advised_gamma": plan.advised_gamma,
        "test_gamma": advice.test_gamma,
        "gain_certain": plan.gain_certain,
        "gain_probability": advice.gain_probability,
        **{name: getattr(price.load, name, None) for name in _OF_LOAD},
        "tokens_per_second_low": low,
        "tokens_per_second_high": high,
        **_doubt_fields(plan),
    }


def _doubt_fields(plan: Plan) -> dict[str, Any]:
    """Returns the JSON fields that only uncertain plans have, e.g. intervals and the next run."""
    at, price, following = plan.at, plan.price, plan.advice.next_run
    fields: dict[str, Any] = {}
    if plan.curve.in_doubt:
        fields["improvement_factor_low"] = 1.0 if at is None else float(at.low[0])
        fields["improvement_factor_high"] = 1.0 if at is None else float(at.high[0])
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


def _points(plan: Plan) -> list[dict[str, Any]]:
    """Returns a JSON object for each gamma, which is also a row of the printed table."""
    curve = plan.curve
    names = ["gamma", "expected_tokens", "improvement_factor", "operations_factor", "extrapolated"]
    columns = {name: getattr(curve, name).tolist() for name in [*names, "beyond_graphs"]}
    columns["gain_probability"] = [None] * len(curve.gamma)
    if curve.in_doubt:
        columns["gain_probability"] = curve.gains.exceeds(1.0).tolist()
        columns["improvement_factor_low"] = curve.low.tolist()
        columns["improvement_factor_high"] = curve.high.tolist()
        if plan.price.posterior is not None:
            law = token_seconds(plan.acceptance, plan.price, curve.gamma)
            low, middle, high = (1e3 * each for each in law.interval())
            columns |= {
                "ms_per_token": middle.tolist(),
                "ms_per_token_low": low.tolist(),
                "ms_per_token_high": high.tolist(),
                "tokens_per_second": (1e3 / middle).tolist(),
            }
    return [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]


def plan_text(plan: Plan, basis: Basis) -> str:
    """Returns assumptions, curve and advice as text, with the numbers of `plan_json`."""
    curve, price, load = plan.curve, plan.price, plan.price.load
    baseline = plan.baseline_tokens_per_second
    last = max(_ROWS_LEAST, plan.gamma, plan.optimal_gamma + _ROWS_PAST, plan.advice.named)
    points = plan_json(plan, basis)["curve"][:last]
    columns: list[Column[dict[str, Any]]] = [
        (GAMMA, "{gamma}"),
        ("tokens/call", "{expected_tokens:.2f}"),
        ("speed-up", "{improvement_factor:.2f}"),
    ]
    if curve.in_doubt:
        low, high = "{improvement_factor_low:.2f}", "{improvement_factor_high:.2f}"
        columns.append((percent(), f"{low} to {high}"))
    if baseline is not None:
        for point in points:
            point["speed"] = baseline * point["improvement_factor"]
            point["ms"] = 1e3 * price.batch / point["speed"]
        columns += [(MS, "{ms:.2f}"), (TOKENS, "{speed:.1f}")]
    if not curve.in_doubt:
        columns.append(("operations", "{operations_factor:.2f}"))
    lines = [
        _assumptions(plan, basis),
        *([] if load is None else load_notes(plan, load)),
        *basis.notes,
        "",
        table(
            points,
            columns,
            best=lambda point: point["gamma"] == plan.optimal_gamma,
            note=lambda point: _note(plan, point),
        ),
        *([BEYOND] if curve.extrapolated[:last].any() else []),
        *([graphs_line(price.wall)] if price.wall and curve.beyond_graphs[:last].any() else []),
        *([f"(--json has all up to {len(curve.gamma)})"] if last < len(curve.gamma) else []),
        "",
        *(advice_lines(plan) if load is None or load.fits else [does_not_fit(price)]),
    ]
    if basis.other is not None and basis.draft_sampling is not None:
        from specplan.reports.profile import drawn_by, other_line, other_way

        way = other_way(basis.draft_sampling)
        if basis.other.advised_gamma == plan.advised_gamma:
            lines.append(other_line(basis.other, way))
        else:
            own = replace(basis, draft_sampling=way, notes=(), other=None)
            lines += ["", f"{drawn_by(way)}:", plan_text(basis.other, own)]
    return folded("\n".join(lines))


def _assumptions(plan: Plan, basis: Basis) -> str:
    cost, kind = plan.price.cost, plan.acceptance.kind
    drafts = f", {basis.draft_sampling} drafts" if basis.draft_sampling else ""
    source = {"replay": f" (replayed{drafts})"}.get(kind, "")
    if basis.counted:
        taken = {"iid": ", taken as"}.get(kind, " if")
        source = f" (from counts{taken} i.i.d.)"
    verification = "free" if cost.verification_free else "at its own cost"
    operations = "" if basis.c_hat_is_c else f", c_hat {plan.c_hat:.4g}"
    alpha = f"alpha {plan.alpha:.4g}{source}"
    return f"{alpha}, c {cost.c:.4g}, verification {verification}{operations}"


def _note(plan: Plan, point: dict[str, Any]) -> str:
    """Returns a row's marks: extrapolated (+), beyond captured graphs (!), advised, to measure."""
    gamma, notes = point["gamma"], ["+"] * point["extrapolated"] + ["!"] * point["beyond_graphs"]
    if gamma == plan.advised_gamma != plan.optimal_gamma:
        notes.append("<- advised")
    if gamma == plan.advice.test_gamma:
        notes.append("<- measure")
    return " ".join(notes)
