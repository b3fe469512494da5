"""Plans as the JSON object of `specplan plan`, and several plans as a table."""

from collections.abc import Sequence
from typing import Any

from simulator.acceptance.acceptance import IID_TOLERANCE, Iid, iid_error
from simulator.choice.curve import speed_up
from simulator.choice.plan import Plan
from simulator.choice.walltime import improvement_factor, lower_bound, oracle_improvement_factor
from simulator.cost.c_by_sizes import expected_c, questions_c
from simulator.cost.fitted.runs import Run
from simulator.numerics.intervals import CONFIDENCE
from specplan.reports.advice import advice_json, break_even_text
from specplan.reports.basis import basis_text
from specplan.reports.deployment import (
    cost_json,
    graphs_line,
    of_loads,
    published_speeds,
    rows_notes,
    schedules_json,
    schedules_text,
    zero_fields,
)  # fmt: skip
from specplan.reports.first_runs import first_runs
from specplan.reports.kept import fastest_json, kept_json
from specplan.reports.next_run import next_reason, wide_lines
from specplan.reports.plan import BEYOND, notes_of, points_of, require_possible, speeds
from specplan.reports.plan_rows import (
    SETTINGS,
    cells_of,
    columns_of,
    drafting_json,
    fastest,
    speed_ups_json,
)  # fmt: skip
from specplan.reports.several import several_json
from specplan.reports.slower import runs_of, slower_text
from specplan.reports.table import folded, table

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
    basis = basis_text(rows[0].acceptance, [row.cost for row in rows])
    if drafts:
        pairs = zip(drafts, rows, strict=True)
        named = [{"draft": name, **plan_fields(row)} for name, row in pairs]
        opening = {
            "sentence": fastest(rows, drafts),
            "sure": wide_lines(rows, [f" of {name}" for name in drafts]),
        }
        return {**opening, "basis": basis, "rows": named, "best_draft": drafts[0]}
    if len(rows) == 1:
        return plan_json(rows[0])
    runs = runs_of(rows)
    fields = [{**plan_fields(row, runs), "first_runs": first_runs(row, rows)} for row in rows]
    data: dict[str, Any] = {"basis": basis, "rows": fields}
    if of_loads(rows):
        from specplan.reports.contexts import contexts_json
        from specplan.reports.zero import break_evens_json

        data["schedule"] = schedules_json(every or rows, rows[0].only)
        data["last_batch"] = break_evens_json(every or rows, rows[0].only)
        data["by_context"] = contexts_json(every or rows, rows[0].only)
    return {**several_json(rows, data), **data}


def plan_json(plan: Plan) -> dict[str, Any]:
    """Returns the JSON object of one plan; raises ArithmeticError on impossible predictions."""
    opening = advice_json(plan) | {"basis": basis_text(plan.acceptance, [plan.cost])}
    data = {**opening, **plan_fields(plan), "curve": points_of(plan)}
    sampling = plan.acceptance.source.draft_sampling
    if plan.other is not None and sampling is not None:
        from specplan.reports.profile import samplings_json

        data["by_draft_sampling"] = samplings_json(plan, plan.other, sampling)
    return require_possible(plan, data)


def plan_fields(plan: Plan, runs: Sequence[Run] = ()) -> dict[str, Any]:
    """Returns the JSON object of one plan without its curve; runs: as in `slower_text`."""
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
    break_even_alpha, break_even_c = plan.break_evens
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
        "temperature": source.temperature,
        "draft_sampling": source.draft_sampling,
        "verification": source.verification,
        "quiet": source.quiet,
        "notes": [*(setting.load.notes if setting.load else ()), *notes_of(plan)],
        "advised_gamma": plan.advised_gamma if setting.fits else None,
        "kept": kept_json(plan.kept),
        "why_slower": slower_text(plan, runs) or None if setting.fits else None,
        "fastest_run": fastest_json(plan),
        "test_gamma": advice.test_gamma,
        "first_runs": first_runs(plan) if setting.fits else [],
        "zero": zero_fields(plan),
        "gain_certain": advice.certain if plan.curve.in_doubt else None,
        "gain_probability": advice.gain_probability,
        "speed_ups": speed_ups_json(plan),
        "drafting": drafting_json(plan) if setting.fits else None,
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
        fields["next_run"] = following and {
            "gamma": following.gamma,
            "reason": next_reason(plan, following),
            "gain_percent": following.gain_percent,
        }
    if cost.posterior is not None:
        fields["cost"] = {
            "kind": "runs" if cost.setting.load is None else "roofline",
            "evidence": len(cost.posterior.runs),
            **(cost_json(cost.setting.load) or {"model": None, "source": None}),
        }
    return fields


def _first_cause(rows: Sequence[tuple[Plan, str]]) -> list[str]:
    """Returns why speculation is slower at the first plan that advises none; [] if not known.

    rows: plans, each with its settings as text.
    """
    runs = runs_of([row for row, _ in rows])
    for row, at in rows:
        if row.advised_gamma == 0 and not row.advice.undecided and (why := slower_text(row, runs)):
            return [f"At {at}: {why}"]
    return []


def plans_text(rows: Sequence[Plan], every: Sequence[Plan] = (), drafts: Sequence[str] = ()) -> str:
    """Returns several plans as a table with their schedule; every, drafts: see `plans_json`."""
    one_batch = len({row.setting.batch for row in rows}) == 1  # else the schedule has the zero
    first, cells, columns = rows[0], [cells_of(row) for row in rows], columns_of(rows)
    held = notes_of(first) if one_batch else (*first.acceptance.source.notes, *first.notes)
    notes = [*rows_notes(rows), *held]
    notes += {note for row in rows for note in row.acceptance.source.notes}.difference(notes)
    if drafts:
        notes = [fastest(rows, drafts), *notes]
        columns = [("draft", "{draft}"), *(column for column in columns if column[0] != "c")]
        cells = [{"draft": name, **row} for name, row in zip(drafts, cells, strict=True)]
    lines = [table(cells, columns, note=lambda cell: cell["note"])]
    if any(cell["extrapolated"] for cell in cells):
        lines.append(BEYOND)
    wall = rows[0].setting.wall
    if wall is not None and any(cell["beyond_graphs"] for cell in cells):
        lines.append(folded(graphs_line(wall)))
    names = [header for header, _ in columns if header in SETTINGS]
    able = [
        (row, ", ".join(f"{name} {values[name]}" for name in names))
        for row, values in zip(rows, cells, strict=True)
        if row.setting.fits
    ]
    fitting = [row for row, _ in able]
    if not fitting:
        lines.append("Nothing fits: try more GPUs (--tp) or --dtype fp8.")
    if any(row.advised_gamma == 0 and not row.advice.undecided for row in fitting):
        lines.append("Advised K (gamma) 0: do not speculate. Such a row shows the best K.")
        lines += map(folded, _first_cause(able))
    if any(row.advice.undecided for row in fitting):
        lines.append("Advised K ?: undecided until the K of the row was measured.")
    if drafts:
        lines += map(folded, wide_lines(rows, [f" of {name}" for name in drafts]))
    else:
        answer = plans_json(rows, every)
        lines += ["", *map(folded, [answer["sentence"], *answer["sure"]])]
    for row, at in able[:: max(len(able) - 1, 1)]:
        lines.append(folded(break_even_text(row, f" at {at}")))
    if of_loads(rows) and not drafts:
        lines += map(folded, schedules_text(every or rows, rows[0].only))
    return "\n".join([*map(folded, notes), *([""] if notes else []), *lines])
