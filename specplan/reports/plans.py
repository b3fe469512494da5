"""Plans as the JSON object of `specplan plan`, and several plans as a table."""

from collections.abc import Sequence
from typing import Any

from simulator.acceptance.acceptance import IID_TOLERANCE, Iid, iid_error
from simulator.choice.advice import certainty, percentage
from simulator.choice.curve import speed_up
from simulator.choice.plan import Plan
from simulator.choice.walltime import improvement_factor, lower_bound, oracle_improvement_factor
from simulator.cost.sizes import expected_c, questions_c
from simulator.numerics.intervals import CONFIDENCE, percent
from specplan.reports.advice import NOT_CALIBRATED, break_evens
from specplan.reports.deployment import (
    cost_json,
    gpus_of,
    graphs_line,
    of_loads,
    published_speeds,
    rows_notes,
    schedules_json,
    schedules_text,
    zero_fields,
)  # fmt: skip
from specplan.reports.kept import kept_json
from specplan.reports.plan import BEYOND, notes_of, points_of, require_possible, speeds
from specplan.reports.table import GAMMA, MS, TOKENS, Column, folded, table

_OF_LOAD = (
    "gpu", "dtype", "activations", "tp", "dp", "ep", "draft_kind", "context", "needed_gb", "fits",
    "most_batch", "estimated",
)  # fmt: skip


def plans_json(
    rows: Sequence[Plan], every: Sequence[Plan] = (), drafts: Sequence[str] = ()
) -> dict[str, Any]:
    """Returns the JSON object of `specplan plan`: one plan with its curve, or a list of plans.

    every: the rows that the schedule follows from, if they are more than the shown ones.
    drafts: name of each row's draft, the fastest first; empty: the rows are of one draft.
    """
    if drafts:
        named = [
            {"draft": name, **plan_fields(row)} for name, row in zip(drafts, rows, strict=True)
        ]
        return {"rows": named, "best_draft": drafts[0], "sentence": fastest(rows, drafts)}
    if len(rows) == 1:
        return plan_json(rows[0])
    data: dict[str, Any] = {"rows": [plan_fields(row) for row in rows]}
    if of_loads(rows):
        from specplan.reports.contexts import contexts_json
        from specplan.reports.zero import break_evens_json

        data["schedule"] = schedules_json(every or rows, rows[0].only)
        data["last_batch"] = break_evens_json(every or rows, rows[0].only)
        data["by_context"] = contexts_json(every or rows, rows[0].only)
    return data


def plan_json(plan: Plan) -> dict[str, Any]:
    """Returns the JSON object of one plan; raises ArithmeticError on impossible predictions."""
    data = {**plan_fields(plan), "curve": points_of(plan)}
    sampling = plan.acceptance.source.draft_sampling
    if plan.other is not None and sampling is not None:
        from specplan.reports.profile import samplings_json

        data["by_draft_sampling"] = samplings_json(plan, plan.other, sampling)
    return require_possible(plan, data)


def plan_fields(plan: Plan) -> dict[str, Any]:
    """Returns the JSON object of one plan without its curve."""
    acceptance, cost, advice = plan.acceptance, plan.cost, plan.advice
    alpha, setting, sizes = acceptance.alpha, plan.setting, expected_c(cost)
    gamma, tokens, factor, operations, *_ = plan.at
    source = acceptance.source
    error, error_gamma = iid_error(acceptance, max_gamma=len(plan.curve.gamma)) or (None, None)
    c_by_sizes = sizes and {
        "share": setting.draft_share, "low": sizes[0], "high": sizes[1],
        "questioned": questions_c(cost),
    }  # fmt: skip
    textbook = cost.theorem8 and error is None and not acceptance.is_lower_bound
    drafted = float(acceptance.drafted_per_token(gamma)) if gamma > 0 else 0.0
    break_even_alpha, break_even_c = break_evens(plan)
    low, high = published_speeds(setting, plan.tokens_per_second) or (None, None)
    return {
        "alpha": alpha,
        "alpha_iid": alpha if source.counted else None,
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
        "batch": setting.batch,
        "verification_free": cost.verification_free,
        **(speeds(plan, factor) or {"ms_per_token": None, "tokens_per_second": None}),
        "baseline_tokens_per_second": plan.baseline_tokens_per_second,
        "baseline_ms_per_token": 1e3 * plan.curve.baseline if cost.in_seconds else None,
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
        "c_hat_is_c": plan.c_hat_is_c,
        "draft_sampling": source.draft_sampling,
        "verification": source.verification,
        "quiet": source.quiet,
        "notes": notes_of(plan),
        "advised_gamma": plan.advised_gamma if setting.fits else None,
        "kept": kept_json(plan.kept),
        "test_gamma": advice.test_gamma,
        "zero": zero_fields(plan),
        "gain_certain": advice.certain if plan.curve.in_doubt else None,
        "gain_probability": advice.gain_probability,
        **{name: getattr(setting.load, name, None) for name in _OF_LOAD},
        "tokens_per_second_low": low,
        "tokens_per_second_high": high,
        **_doubt_fields(plan),
    }


def _doubt_fields(plan: Plan) -> dict[str, Any]:
    """Returns the JSON fields that only uncertain plans have, e.g. intervals and the next run."""
    cost, following = plan.cost, plan.advice.next_run
    fields: dict[str, Any] = {}
    if plan.curve.in_doubt:
        fields["improvement_factor_low"] = plan.at.low
        fields["improvement_factor_high"] = plan.at.high
        reason = "no run without speculation: no measured time is compared with a baseline"
        if following is not None and following.gamma > 0:
            reason = (
                f"expected to make the advice {following.gain_percent:.1f} % faster; "
                f"compared with gamma {following.rival}"
            )
        fields["next_run"] = following and {
            "gamma": following.gamma,
            "reason": reason,
            "gain_percent": following.gain_percent,
        }
    if cost.posterior is not None:
        fields["cost"] = {
            "kind": "runs" if cost.setting.load is None else "roofline",
            "evidence": len(cost.posterior.runs),
            **(cost_json(cost.setting.load) or {"model": None, "source": None}),
        }
    return fields


def plans_text(rows: Sequence[Plan], every: Sequence[Plan] = (), drafts: Sequence[str] = ()) -> str:
    """Returns several plans as a table with their schedule; every, drafts: see `plans_json`."""
    notes = [*rows_notes(rows), *notes_of(rows[0])]
    cells = [_cells(row) for row in rows]
    columns = _columns(rows)
    if drafts:
        notes = [fastest(rows, drafts), *notes]
        columns = [("draft", "{draft}"), *(each for each in columns if each[0] != "c")]
        cells = [{"draft": name, **each} for name, each in zip(drafts, cells, strict=True)]
    lines = [table(cells, columns, note=lambda each: each["note"])]
    if any(each["extrapolated"] for each in cells):
        lines.append(BEYOND)
    wall = rows[0].setting.wall
    if wall is not None and any(each["beyond_graphs"] for each in cells):
        lines.append(folded(graphs_line(wall)))
    fitting = [row for row in rows if row.setting.fits]
    if not fitting:
        lines.append("Nothing fits: try more GPUs (--tp) or --dtype fp8.")
    if any(row.advised_gamma == 0 and not row.advice.undecided for row in fitting):
        lines.append("Advised K (gamma) 0: do not speculate. Such a row shows the best K.")
    if any(row.advice.undecided for row in fitting):
        lines.append("Advised K ?: undecided until the K of the row was measured.")
        lines += [NOT_CALIBRATED] if len(gpus_of(rows)) > 1 else []
    if of_loads(rows) and not drafts:
        lines += ["", *map(folded, schedules_text(every or rows, rows[0].only))]
    return "\n".join([*map(folded, notes), *([""] if notes else []), *lines])


def fastest(rows: Sequence[Plan], drafts: Sequence[str]) -> str:
    """Returns which draft is the fastest, how sure its gain is, and how much slower the next is."""
    row, gamma = rows[0], _shown(rows[0])
    if not row.setting.fits:
        return "No draft fits into memory with the target."
    point, chance = row.point(gamma), row.advice.gain_probability
    if gamma == 0 or (row.advised_gamma == 0 and not row.advice.undecided):
        return f"No draft gains at batch {row.setting.batch}: do not speculate."
    odds = "" if chance is None else f", a gain is {certainty(chance)} ({percentage(chance)} %)"
    interval = f" ({percent()}: {point.low:.2f} to {point.high:.2f})" if row.curve.in_doubt else ""
    said = (
        f"{drafts[0]} with K = {gamma} is the fastest at batch {row.setting.batch}: "
        f"{point.improvement_factor:.2f} times{interval}{odds}."
    )
    if len(rows) == 1 or not rows[1].setting.fits:
        return said
    second = rows[1].point(_shown(rows[1])).improvement_factor
    slower = 100 * (1 - second / point.improvement_factor)
    return f"{said} {drafts[1]} is {slower:.0f} % slower."


def _cells(row: Plan) -> dict[str, Any]:
    """Returns a plan's values for the table; a plan that does not fit in memory has no gain."""
    load, setting, best, gamma = row.setting.load, row.setting, row.optimal_gamma, _shown(row)
    extrapolated = row.extrapolated_at(gamma)
    best_beyond = row.extrapolated_at(best) and gamma != best
    beyond_graphs = bool(setting.beyond_graphs(gamma))
    cells: dict[str, Any] = {
        **{name: str(getattr(load, name, "-")) for name in ("gpu", "most_batch", "context")},
        "alpha": row.alpha,
        "c": row.cost.c,
        "batch": setting.batch,
        "extrapolated": extrapolated or best_beyond,
        "beyond_graphs": beyond_graphs,
    }
    if load is not None and not load.fits:
        return cells | {"note": f"does not fit: {load.needed_gb or 0:.0f} GB a GPU"}
    marks = ["+"] * extrapolated + ["!"] * beyond_graphs
    if load is not None and load.estimated is not None:
        marks.append({"between": "interpolated", "beyond": "beyond your runs"}[load.estimated])
    chance, baseline = row.advice.gain_probability, row.baseline_tokens_per_second
    cells |= row.point(gamma)._asdict()
    return (
        cells
        | speeds(row, cells["improvement_factor"])
        | {
            "best": f"{best}+" if best_beyond else str(best),
            "advised": "?" if row.advice.undecided else row.advised_gamma,
            "chance": None if chance is None else percentage(chance),
            "baseline": baseline,
            "note": " ".join(marks),
        }
    )


def _shown(row: Plan) -> int:
    """Returns the γ whose speed-up the table shows: --gamma if given, else the advised γ."""
    return row.gamma if row.gamma != row.optimal_gamma else row.advice.named


def _columns(rows: Sequence[Plan]) -> list[Column[dict[str, Any]]]:
    """Returns the columns: settings in which the plans differ, then γ, speed-up and times."""
    several = len(gpus_of(rows)) > 1
    loads = [row.setting.load for row in rows if row.setting.load is not None]
    in_seconds = all(row.tokens_per_second is not None for row in rows)
    in_doubt = any(row.curve.in_doubt for row in rows)
    by_load = bool(loads) and len({row.alpha for row in rows}) == 1
    columns: list[tuple[bool, str, str]] = [
        (several, "gpu", "{gpu}"),
        (several, "fits up to batch", "{most_batch}"),
        (not by_load, "alpha", "{alpha:.4g}"),
        (not by_load, "c", "{c:.4g}"),
        (len({load.context for load in loads}) > 1, "context", "{context}"),
        (any(row.setting.batch > 1 for row in rows), "batch", "{batch}"),
        (True, "best K", "{best}"),
        (True, "advised K", "{advised}"),
        (any(_shown(row) != row.advised_gamma for row in rows), GAMMA, "{gamma}"),
        (True, "tokens/call", "{expected_tokens:.2f}"),
        (True, "speed-up", "{improvement_factor:.2f}"),
        (in_doubt, percent(), "{low:.2f} to {high:.2f}"),
        (in_doubt, "gain", "{chance} %"),
        (not in_seconds and not in_doubt, "operations", "{operations_factor:.2f}"),
        (in_seconds, MS, "{ms_per_token:.2f}"),
        (in_seconds, TOKENS, "{tokens_per_second:.1f}"),
        (in_seconds, "without", "{baseline:.1f}"),
    ]
    return [(header, cell) for needed, header, cell in columns if needed]
