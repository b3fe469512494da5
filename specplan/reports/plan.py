"""A plan as a reader sees it: the curve with its best row, and advice in plain words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from specplan.reports.deployment import (
    does_not_fit,
    load_json,
    load_notes,
    schedules,
    schedules_text,
)
from specplan.reports.output import folded, table

if TYPE_CHECKING:
    from simulator.choice.plan import Plan
    from specplan.reports.pricing import Pricing

# Rows shown past the best gamma, and at the least; --json has all of them.
_ROWS_PAST = 3
_ROWS_LEAST = 8


@dataclass(frozen=True, slots=True)
class Basis:
    """Where the numbers of a plan come from, as far as the numbers do not tell.

    counted: alpha was inferred from counts, under the i.i.d. assumption.
    c_hat_is_c: nobody stated c_hat, so c stands in for it.
    draft_sampling: how drafts are made, where a profile tells; None: not known.
    verification: how drafts are judged; None: not known.
    quiet: whether the machine was while the profile was measured; None: not known, or no profile.
    notes: sentences for the reader of the text.
    """

    counted: bool
    c_hat_is_c: bool
    draft_sampling: str | None = None
    verification: str | None = None
    quiet: bool | None = None
    notes: tuple[str, ...] = ()


def plan_json(plan: Plan, basis: Basis, price: Pricing) -> dict[str, Any]:
    """Returns the plan as the JSON object of `specplan plan`, its curve one object per gamma."""
    fields = asdict(plan)
    fields["acceptance"] = {
        "kind": fields.pop("acceptance_kind"),
        "observed_gamma": fields.pop("observed_gamma"),
        "iid_consistent": plan.iid_consistent,
        "iid_error": fields.pop("iid_error"),
        "iid_error_gamma": fields.pop("iid_error_gamma"),
    }
    columns = fields.pop("curve")
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return {
        "alpha": fields.pop("alpha"),
        "alpha_iid": plan.alpha if basis.counted else None,
        **fields,
        "c_hat_is_c": basis.c_hat_is_c,
        "draft_sampling": basis.draft_sampling,
        "verification": basis.verification,
        "quiet": basis.quiet,
        **load_json(plan, price),
        "curve": [dict(zip(columns, row, strict=True)) for row in rows],
    }


def row_json(plan: Plan, basis: Basis, price: Pricing) -> dict[str, Any]:
    """Returns the plan without its curve: one row of a table."""
    fields = plan_json(plan, basis, price)
    del fields["curve"]
    return fields


def plan_text(plan: Plan, basis: Basis, price: Pricing) -> str:
    """Returns the readable form of one plan: what was assumed, the curve, the advice."""
    curve = plan.curve
    shown = min(len(curve.gamma), max(_ROWS_LEAST, plan.gamma, plan.optimal_gamma + _ROWS_PAST))
    cells = zip(
        curve.gamma.tolist(),
        curve.expected_tokens.tolist(),
        curve.improvement_factor.tolist(),
        curve.operations_factor.tolist(),
        strict=True,
    )
    rows = [[str(gamma), *(f"{value:.2f}" for value in values)] for gamma, *values in cells]
    beyond = curve.extrapolated[:shown]
    lines = [
        _assumptions(plan, basis),
        *load_notes(plan, price),
        *basis.notes,
        "",
        table(
            rows[:shown],
            header=["gamma", "tokens per call", "speed-up", "operations"],
            marked=[plan.optimal_gamma - 1] if plan.optimal_gamma > 0 else [],
            notes=_row_notes(plan, beyond.tolist()),
        ),
        *(["+ beyond the observed gamma: extrapolated"] if beyond.any() else []),
        *([] if shown == len(rows) else [f"(--json has all up to {len(rows)})"]),
        "",
        *(_advice(plan) if price.load is None or price.load.fits else [does_not_fit(price)]),
    ]
    return folded("\n".join(lines))


def rows_text(plans: Sequence[Plan], basis: Basis, prices: Sequence[Pricing]) -> str:
    """Returns a table with one line per plan, on what it rests, and the schedule of a load."""
    loads = [price.load for price in prices]
    columns: list[tuple[str, Callable[[Plan], str]]] = [
        ("alpha", lambda plan: f"{plan.alpha:.4g}"),
        ("c", lambda plan: f"{plan.c:.4g}"),
    ]
    if any(plan.batch > 1 for plan in plans):
        columns.append(("batch", lambda plan: str(plan.batch)))
    columns.append(("best", lambda plan: str(plan.optimal_gamma)))
    if loads[0] is not None:
        columns.append(("advised", lambda plan: str(plan.gamma_near)))
    if any(plan.gamma != plan.optimal_gamma for plan in plans):
        columns.append(("gamma", lambda plan: str(plan.gamma)))
    columns += [
        ("tokens/call", lambda plan: f"{plan.expected_tokens:.2f}"),
        ("speed-up", lambda plan: f"{plan.improvement_factor:.2f}"),
        ("operations", lambda plan: f"{plan.operations_factor:.2f}"),
    ]
    if all(plan.tokens_per_second is not None for plan in plans):
        columns += [
            ("tokens/s", lambda plan: f"{plan.tokens_per_second:.1f}"),
            ("alone", lambda plan: f"{plan.baseline_tokens_per_second:.1f}"),
        ]
    cells = [[cell(plan) for _, cell in columns] for plan in plans]
    header = [name for name, _ in columns]
    if len({load.context for load in loads if load is not None}) > 1:
        header.insert(2, "context")
        for row, load in zip(cells, loads, strict=True):
            row.insert(2, "" if load is None else str(load.context))
    notes = {}
    for index, load in enumerate(loads):
        if load is not None and not load.fits:
            cells[index] = [
                cell if name in ("alpha", "c", "batch", "context") else "-"
                for cell, name in zip(cells[index], header, strict=True)
            ]
            notes[index] = f"does not fit: {load.needed_gb or 0:.0f} GB a GPU"
    lines = [table(cells, header=header, notes=notes)]
    if any(plan.optimal_gamma == 0 for plan in plans):
        lines.append("Best gamma 0: do not speculate.")
    if loads[0] is not None and len({plan.alpha for plan in plans}) == 1:
        lines += ["", *map(folded, schedules_text(schedules(plans, prices)))]
    return "\n".join([*map(folded, basis.notes), *([""] if basis.notes else []), *lines])


def _assumptions(plan: Plan, basis: Basis) -> str:
    source = ""
    if basis.counted:
        taken = ", taken as i.i.d." if plan.acceptance_kind == "iid" else " if i.i.d."
        source = f" (from counts{taken})"
    elif plan.acceptance_kind == "replay":
        source = " (replayed)"
    verification = "free" if plan.verification_free else "at its own cost"
    operations = "taken to be c" if basis.c_hat_is_c else f"{plan.c_hat:.4g}"
    return (
        f"alpha {plan.alpha:.4g}{source}, c {plan.c:.4g}, verification {verification}, "
        f"c_hat {operations}"
    )


def _advice(plan: Plan) -> list[str]:
    if plan.optimal_gamma == 0:
        lines = ["Do not speculate: at this alpha and these costs no gamma is faster."]
    elif plan.gamma == plan.optimal_gamma:
        lines = [*_recommendation(plan), *_tolerance(plan), *_observed(plan)]
    else:
        best = plan.curve.improvement_factor[plan.optimal_gamma - 1]
        lines = [f"The best gamma is {plan.optimal_gamma}, with {best:.2f} times the speed."]
    if plan.gamma != plan.optimal_gamma:
        lines.append(f"Gamma {plan.gamma} gives {_gain(plan)}")
    if plan.tokens_per_second is not None:
        lines.append(
            f"Tokens per second: {plan.tokens_per_second:.1f}, without a draft "
            f"{plan.baseline_tokens_per_second:.1f}."
        )
    lines += _iid(plan)
    lines.append(_break_even(plan))
    return lines


def _row_notes(plan: Plan, beyond: Sequence[bool]) -> dict[int, str]:
    """Returns what stands after rows: beyond the observed, and the advised gamma."""
    notes = {index: "+" for index, extrapolated in enumerate(beyond) if extrapolated}
    if 0 < plan.gamma_near < plan.optimal_gamma:
        index = plan.gamma_near - 1
        near = f"<- within {100 * plan.near:g} %"
        notes[index] = f"{notes[index]}  {near}" if index in notes else near
    return notes


def _recommendation(plan: Plan) -> list[str]:
    """Says what to draft: the smallest gamma near the best, and what that saves from."""
    best = f"gamma {plan.optimal_gamma} ({plan.improvement_factor:.2f} times)"
    share = f"{100 * plan.near:g} %"
    if plan.gamma_near == 0:
        return [f"Not worth a draft: the best is {best}, within {share} of none at all."]
    tokens = "1 token" if plan.gamma_near == 1 else f"{plan.gamma_near} tokens"
    if plan.gamma_near == plan.optimal_gamma:
        return [f"Draft {tokens} per block: {_gain(plan)}"]
    near = plan.curve.improvement_factor[plan.gamma_near - 1]
    return [
        f"Draft {tokens} per block: {near:.2f} times the speed of the target alone,",
        f"within {share} of the best, {best}.",
    ]


def _iid(plan: Plan) -> list[str]:
    """Says whether i.i.d. acceptances would tell the same, and what they would."""
    if plan.iid_error is None:
        return []
    if plan.iid_consistent:
        return [
            f"With this alpha at every position (i.i.d.) gamma {plan.gamma} would give "
            f"{plan.improvement_factor_iid:.2f}: no other answer."
        ]
    side = "high" if plan.iid_error > 0 else "low"
    return [
        "Acceptances are not i.i.d.: with this alpha at every position tokens per call would be "
        f"{100 * abs(plan.iid_error):.0f} % too {side} at gamma {plan.iid_error_gamma}, "
        f"and gamma {plan.gamma} would give {plan.improvement_factor_iid:.2f} times the speed."
    ]


def _gain(plan: Plan) -> str:
    return (
        f"{plan.improvement_factor:.2f} times the speed of the target alone.\n"
        f"A target call yields {plan.expected_tokens:.2f} tokens; a token takes "
        f"{plan.operations_factor:.2f} times the arithmetic."
    )


def _tolerance(plan: Plan) -> list[str]:
    """Says how far from the best gamma one may stray: the top of the curve is flat."""
    improvement = plan.curve.improvement_factor
    near = improvement >= 0.98 * improvement.max()
    first = last = plan.optimal_gamma
    while first > 1 and near[first - 2]:
        first -= 1
    while last < len(near) and near[last]:
        last += 1
    return [] if first == last else [f"Gamma {first} to {last} come within 2 % of that."]


def _observed(plan: Plan) -> list[str]:
    """Says what the largest observed gamma gives, where the advised one lies beyond."""
    observed = plan.observed_gamma
    if observed is None or not 0 < observed < plan.gamma_near:
        return []
    gain = plan.curve.improvement_factor[observed - 1]
    return [
        f"No position beyond {observed} was observed: gamma {observed} gives {gain:.2f}. Try gamma "
        f"{plan.gamma_near}, and look again."
    ]


def _break_even(plan: Plan) -> str:
    c = plan.break_even_c
    costs = "this c" if plan.tokens_per_second is None else "these costs"
    below = "at no c" if c is None or c == 0 else f"below c {c:.3g}"
    these = "this alpha" if plan.acceptance_kind == "iid" else "these acceptances"
    return f"Speculation pays {_paying_alphas(plan)} with {costs},\n{below} with {these}."


def _paying_alphas(plan: Plan) -> str:
    least = plan.break_even_alpha
    if least is None or least == 1:
        return "at no alpha"
    if least > 0:
        return f"above alpha {least:.3g}"
    gains_unaccepted = plan.alpha == 0 and plan.optimal_gamma > 0
    return "at any alpha" if gains_unaccepted else "at any alpha above 0"
