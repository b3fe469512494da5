"""A plan as a reader sees it: the curve with its best row, and the advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from specplan.reports.advice import advice_lines
from specplan.reports.deployment import does_not_fit, load_notes
from specplan.reports.output import folded, warn
from specplan.reports.plan_rows import BEYOND, beyond_graphs, rows_text
from specplan.reports.table import GAMMA, MS, TOKENS, Column, shown, table

if TYPE_CHECKING:
    from simulator.choice.plan import Plan
    from specplan.reports.plan_json import Basis

# Rows shown past the best gamma, and at the least; --json has all of them.
_ROWS_PAST = 3
_ROWS_LEAST = 8


def plans_text(rows: Sequence[Plan], basis: Basis) -> str:
    """Returns the readable form of the same."""
    return plan_text(rows[0], basis) if len(rows) == 1 else rows_text(rows, basis)


def warn_of_plans(rows: Sequence[Plan], basis: Basis, *, max_gamma: int) -> None:
    """Warns where --max-gamma binds, and of times that are not to be trusted."""
    bound = sum(row.cap_binds for row in rows)
    if bound > 0:
        where = "" if len(rows) == 1 else f" in {bound} of {len(rows)} rows"
        warn(f"the best gamma is limited by --max-gamma {max_gamma}{where}: a longer draft gains")
    if basis.quiet is False:
        warn("the profile was measured while the machine was not quiet; measure it again")


def plan_text(plan: Plan, basis: Basis) -> str:
    """Returns the readable form of one plan: what was assumed, the curve, the advice."""
    curve, load, wall = plan.curve, plan.price.load, plan.price.wall
    last = max(_ROWS_LEAST, plan.gamma, plan.optimal_gamma + _ROWS_PAST, plan.advice.named)
    last = min(len(curve.gamma), last)
    doubt = [Column[int]("90 %", lambda i: f"{curve.low[i]:.2f} to {curve.high[i]:.2f}")]
    operations = [Column[int]("operations", lambda i: shown(curve.operations_factor[i]))]
    columns = [
        Column[int](GAMMA, lambda i: str(curve.gamma[i])),
        Column[int]("tokens/call", lambda i: shown(curve.expected_tokens[i])),
        Column[int]("speed-up", lambda i: shown(curve.improvement_factor[i])),
        *(doubt if curve.in_doubt else []),
        *_times(plan),
        *([] if curve.in_doubt else operations),
    ]
    lines = [
        _assumptions(plan, basis),
        *load_notes(plan),
        *basis.notes,
        "",
        table(
            range(last),
            columns,
            best=lambda i: curve.gamma[i] == plan.optimal_gamma,
            note=lambda i: _row_note(plan, i),
        ),
        *([BEYOND] if curve.extrapolated[:last].any() else []),
        *([beyond_graphs(wall)] if wall and curve.beyond_graphs[:last].any() else []),
        *([] if last == len(curve.gamma) else [f"(--json has all up to {len(curve.gamma)})"]),
        "",
        *([does_not_fit(plan.price)] if load is not None and not load.fits else advice_lines(plan)),
    ]
    return folded("\n".join(lines))


def _times(plan: Plan) -> list[Column[int]]:
    """Returns columns by the index of gamma: time of a token, and tokens of all sequences."""
    baseline = plan.baseline_tokens_per_second
    if baseline is None:
        return []
    factors = plan.curve.improvement_factor
    return [
        Column(MS, lambda i: shown(1e3 * plan.price.batch / (baseline * factors[i]))),
        Column(TOKENS, lambda i: shown(baseline * factors[i], ".1f")),
    ]


def _assumptions(plan: Plan, basis: Basis) -> str:
    kind = plan.acceptance.kind
    source = {"replay": " (replayed)"}.get(kind, "")
    if basis.counted:
        taken = {"iid": ", taken as i.i.d."}.get(kind, " if i.i.d.")
        source = f" (from counts{taken})"
    verification = "free" if plan.price.cost.verification_free else "at its own cost"
    operations = "" if basis.c_hat_is_c else f", c_hat {plan.c_hat:.4g}"
    return (
        f"alpha {plan.alpha:.4g}{source}, c {plan.price.cost.c:.4g}, verification {verification}"
        f"{operations}"
    )


def _row_note(plan: Plan, index: int) -> str:
    """Returns what stands after a row: beyond the observed, and the advised gamma."""
    gamma = int(plan.curve.gamma[index])
    notes = ["+"] if plan.curve.extrapolated[index] else []
    notes += ["!"] if plan.curve.beyond_graphs[index] else []
    if gamma == plan.advised_gamma != plan.optimal_gamma:
        notes.append("<- advised")
    if gamma == plan.advice.test_gamma:
        notes.append("<- measure")
    return " ".join(notes)
