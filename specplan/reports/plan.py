"""A plan as a reader sees it: the curve with its best row, and the advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from specplan.reports.advice import advice
from specplan.reports.deployment import does_not_fit, load_json, load_notes, schedules_json
from specplan.reports.doubt import doubt_columns, doubt_json, doubt_lines, doubt_points
from specplan.reports.output import folded, warn
from specplan.reports.plan_rows import BEYOND, of_loads, rows_text
from specplan.reports.possible import blocks_take_a_step, possible
from specplan.reports.table import GAMMA, MS, TOKENS, Column, shown, table

if TYPE_CHECKING:
    from simulator.choice.grid import Row
    from simulator.choice.plan import Plan

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


def plans_json(rows: Sequence[Row], basis: Basis) -> dict[str, Any]:
    """Returns the JSON object of `specplan plan`: one plan with its curve, or rows of several."""
    if len(rows) == 1:
        return plan_json(rows[0], basis)
    data: dict[str, Any] = {"rows": []}
    for row in rows:
        fields = plan_json(row, basis)
        del fields["curve"]
        data["rows"].append(fields)
    if of_loads(rows):
        data["schedule"] = schedules_json(rows)
    return data


def plans_text(rows: Sequence[Row], basis: Basis) -> str:
    """Returns the readable form of the same."""
    return plan_text(rows[0], basis) if len(rows) == 1 else rows_text(rows, basis.notes)


def warn_of_plans(rows: Sequence[Row], basis: Basis, *, max_gamma: int) -> None:
    """Warns where --max-gamma binds, and of times that are not to be trusted."""
    bound = sum(row.plan.cap_binds for row in rows)
    if bound > 0:
        where = "" if len(rows) == 1 else f" in {bound} of {len(rows)} rows"
        warn(f"the best gamma is limited by --max-gamma {max_gamma}{where}: a longer draft gains")
    if basis.quiet is False:
        warn("the profile was measured while the machine was not quiet; measure it anew")


def plan_json(row: Row, basis: Basis) -> dict[str, Any]:
    """Returns the JSON object of one plan, its curve one object per gamma."""
    plan = row.plan
    fields = asdict(plan)
    fields["acceptance"] = {
        "kind": fields.pop("acceptance_kind"),
        "observed_gamma": fields.pop("observed_gamma"),
        "iid_consistent": plan.iid_consistent,
        "iid_error": fields.pop("iid_error"),
        "iid_error_gamma": fields.pop("iid_error_gamma"),
    }
    columns = {name: values.tolist() for name, values in fields.pop("curve").items()}
    if row.doubt is not None:
        columns |= doubt_points(row.doubt)
    points = zip(*columns.values(), strict=True)
    data = {
        "alpha": fields.pop("alpha"),
        "alpha_iid": plan.alpha if basis.counted else None,
        **fields,
        "c_hat_is_c": basis.c_hat_is_c,
        "draft_sampling": basis.draft_sampling,
        "verification": basis.verification,
        "quiet": basis.quiet,
        "notes": basis.notes,
        "advised_gamma": row.advised_gamma,
        "gain_certain": row.gain_certain,
        **load_json(row),
        **doubt_json(row),
        "curve": [dict(zip(columns, point, strict=True)) for point in points],
    }
    bounded = blocks_take_a_step(row.price.cost, len(plan.curve.gamma))
    return possible(data, bounded=bounded)


def plan_text(row: Row, basis: Basis) -> str:
    """Returns the readable form of one plan: what was assumed, the curve, the advice."""
    plan, load = row.plan, row.price.load
    curve = plan.curve
    last = min(len(curve.gamma), max(_ROWS_LEAST, plan.gamma, plan.optimal_gamma + _ROWS_PAST))
    columns = [
        Column[int](GAMMA, lambda i: str(curve.gamma[i])),
        Column[int]("tokens/call", lambda i: shown(curve.expected_tokens[i])),
        Column[int]("speed-up", lambda i: shown(curve.improvement_factor[i])),
        *(
            [*_times(plan), Column("operations", lambda i: shown(curve.operations_factor[i]))]
            if row.doubt is None
            else doubt_columns(row.doubt, batch=plan.batch)
        ),
    ]
    lines = [
        _assumptions(plan, basis),
        *load_notes(row),
        *basis.notes,
        "",
        table(
            range(last),
            columns,
            best=lambda i: curve.gamma[i] == plan.optimal_gamma,
            note=lambda i: _row_note(row, i),
        ),
        *([BEYOND] if curve.extrapolated[:last].any() else []),
        *([] if last == len(curve.gamma) else [f"(--json has all up to {len(curve.gamma)})"]),
        "",
        *([does_not_fit(row.price)] if load is not None and not load.fits else _advice(row)),
    ]
    return folded("\n".join(lines))


def _times(plan: Plan) -> list[Column[int]]:
    """Returns columns by the index of gamma: time of a token, and tokens of all sequences."""
    alone = plan.baseline_tokens_per_second
    if alone is None:
        return []
    factors = plan.curve.improvement_factor
    return [
        Column(MS, lambda i: shown(1e3 * plan.batch / (alone * factors[i]))),
        Column(TOKENS, lambda i: shown(alone * factors[i], ".1f")),
    ]


def _advice(row: Row) -> list[str]:
    if row.doubt is not None:
        return doubt_lines(row.doubt)
    return advice(row.plan, gain_certain=row.gain_certain)


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


def _row_note(row: Row, index: int) -> str:
    """Returns what stands after a row: beyond the observed, and the advised gamma."""
    plan = row.plan
    gamma = int(plan.curve.gamma[index])
    notes = ["+"] if plan.curve.extrapolated[index] else []
    if gamma == row.advised_gamma != plan.optimal_gamma:
        notes.append("<- advised")
    return " ".join(notes)
