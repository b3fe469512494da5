"""Plans as text: one curve with its best row and advice, or one line for each plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.choice.advice import percentage
from simulator.numerics.intervals import percent
from specplan.reports.advice import NOT_CALIBRATED, advice_lines, warn_of_sizes
from specplan.reports.deployment import (
    does_not_fit,
    gpus_of,
    graphs_line,
    load_notes,
    of_loads,
    rows_notes,
    schedules_text,
)
from specplan.reports.output import folded, warn
from specplan.reports.samplings import drawn_by, other_line, other_way
from specplan.reports.table import GAMMA, MS, TOKENS, Column, shown, table

if TYPE_CHECKING:
    from simulator.choice.plan import Plan
    from specplan.reports.basis import Basis

# Rows shown past the best gamma, and at the least; --json has all of them.
_ROWS_PAST, _ROWS_LEAST = 3, 8
_ESTIMATED = {"between": "interpolated", "beyond": "beyond your runs"}
BEYOND = "+ beyond the observed gamma: extrapolated"


def plans_text(rows: Sequence[Plan], basis: Basis) -> str:
    """Returns plans as text: one in full, or one line for each."""
    return plan_text(rows[0], basis) if len(rows) == 1 else _rows_text(rows, basis)


def warn_of_plans(rows: Sequence[Plan], basis: Basis, *, max_gamma: int) -> None:
    """Prints warnings if --max-gamma limits the result, or if times are unreliable."""
    bound = sum(row.cap_binds for row in rows)
    if bound > 0:
        where = "" if len(rows) == 1 else f" in {bound} of {len(rows)} rows"
        warn(f"the best gamma is limited by --max-gamma {max_gamma}{where}: a longer draft gains")
    warn_of_sizes(rows)
    if basis.quiet is False:
        warn("the profile was measured while the machine was not quiet; measure it again")


def plan_text(plan: Plan, basis: Basis) -> str:
    """Returns the readable form of one plan: assumptions, curve, advice."""
    curve, load, wall = plan.curve, plan.price.load, plan.price.wall
    least = max(_ROWS_LEAST, plan.gamma, plan.optimal_gamma + _ROWS_PAST, plan.advice.named)
    last = min(len(curve.gamma), least)
    columns = [
        Column[int](GAMMA, lambda i: str(curve.gamma[i])),
        Column[int]("tokens/call", lambda i: shown(curve.expected_tokens[i])),
        Column[int]("speed-up", lambda i: shown(curve.improvement_factor[i])),
    ]
    if curve.in_doubt:
        columns.append(Column(percent(), lambda i: f"{curve.low[i]:.2f} to {curve.high[i]:.2f}"))
    columns += _times(plan)
    if not curve.in_doubt:
        columns.append(Column("operations", lambda i: shown(curve.operations_factor[i])))
    lines = [
        _assumptions(plan, basis),
        *([] if load is None else load_notes(plan)),
        *basis.notes,
        "",
        table(
            range(last),
            columns,
            best=lambda i: curve.gamma[i] == plan.optimal_gamma,
            note=lambda i: _row_note(plan, i),
        ),
        *([BEYOND] if curve.extrapolated[:last].any() else []),
        *([graphs_line(wall)] if wall and curve.beyond_graphs[:last].any() else []),
        *([] if last == len(curve.gamma) else [f"(--json has all up to {len(curve.gamma)})"]),
        "",
        *([does_not_fit(plan.price)] if load is not None and not load.fits else advice_lines(plan)),
    ]
    return folded("\n".join([*lines, *_otherwise(plan, basis)]))


def _otherwise(plan: Plan, basis: Basis) -> list[str]:
    """Returns the lines of the plan for the other draft sampling (sampled or argmax).

    Only one line if its γ is the same; none if there is no such plan.
    """
    if basis.other is None or basis.draft_sampling is None:
        return []
    way = other_way(basis.draft_sampling)
    if basis.other.advised_gamma == plan.advised_gamma:
        return [other_line(basis.other, way)]
    own = replace(basis, draft_sampling=way, notes=(), other=None)
    return ["", f"{drawn_by(way)}:", plan_text(basis.other, own)]


def _times(plan: Plan) -> list[Column[int]]:
    """Returns columns by index of gamma: the time per token, and the tokens of all sequences."""
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
    drafts = f", {basis.draft_sampling} drafts" if basis.draft_sampling else ""
    source = {"replay": f" (replayed{drafts})"}.get(kind, "")
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
    """Returns the note after a row: extrapolated (+), or the advised gamma."""
    gamma = int(plan.curve.gamma[index])
    notes = ["+"] if plan.curve.extrapolated[index] else []
    notes += ["!"] if plan.curve.beyond_graphs[index] else []
    if gamma == plan.advised_gamma != plan.optimal_gamma:
        notes.append("<- advised")
    if gamma == plan.advice.test_gamma:
        notes.append("<- measure")
    return " ".join(notes)


def _rows_text(rows: Sequence[Plan], basis: Basis) -> str:
    """Returns a table with one line per plan, its assumptions, and the schedule."""
    notes = [*rows_notes(rows), *basis.notes]
    lines = [table(rows, _row_columns(rows), note=_rows_note)]
    if any(_beyond_observed(row) or "+" in _best(row) for row in rows):
        lines.append(BEYOND)
    wall = rows[0].price.wall
    if wall is not None and any(_beyond_graphs(row) for row in rows):
        lines.append(folded(graphs_line(wall)))
    fitting = [row for row in rows if row.price.load is None or row.price.load.fits]
    if not fitting:
        lines.append("Nothing fits: try more GPUs (--tp) or --dtype fp8.")
    if any(row.advised_gamma == 0 and not row.advice.undecided for row in fitting):
        lines.append("Advised K (gamma) 0: do not speculate. Such a row shows the best K.")
    if any(row.advice.undecided for row in fitting):
        lines.append("Advised K ?: undecided until the K of the row was measured.")
        lines += [NOT_CALIBRATED] if len(gpus_of(rows)) > 1 else []
    if of_loads(rows):
        lines += ["", *map(folded, schedules_text(rows, basis.only))]
    return "\n".join([*map(folded, notes), *([""] if notes else []), *lines])


def _row_columns(rows: Sequence[Plan]) -> list[Column[Plan]]:
    """Returns columns for what differs between the rows, and for each row's gain."""
    loads = [row.price.load for row in rows if row.price.load is not None]
    in_seconds = all(row.tokens_per_second is not None for row in rows)
    in_doubt = any(row.curve.in_doubt for row in rows)
    by_load = bool(loads) and len({row.alpha for row in rows}) == 1
    known: list[tuple[bool, str, Callable[[Plan], str]]] = [
        (len(gpus_of(rows)) > 1, "gpu", _of_load("gpu")),
        (len(gpus_of(rows)) > 1, "fits up to batch", _of_load("most_batch")),
        (not by_load, "alpha", lambda row: f"{row.alpha:.4g}"),
        (not by_load, "c", lambda row: f"{row.price.cost.c:.4g}"),
        (len({load.context for load in loads}) > 1, "context", _of_load("context")),
        (any(row.price.batch > 1 for row in rows), "batch", lambda row: str(row.price.batch)),
    ]
    gained: list[tuple[bool, str, Callable[[Plan], str]]] = [
        (True, "best K", _best),
        (True, "advised K", lambda r: "?" if r.advice.undecided else str(r.advised_gamma)),
        (any(_shown(row) != row.advised_gamma for row in rows), GAMMA, lambda r: str(_shown(r))),
        (True, "tokens/call", lambda row: shown(_value(row, "expected_tokens"))),
        (True, "speed-up", lambda row: shown(_value(row, "improvement_factor"))),
        (in_doubt, percent(), lambda r: f"{_value(r, 'low'):.2f} to {_value(r, 'high'):.2f}"),
        (in_doubt, "gain", _odds),
        (
            not in_seconds and not in_doubt,
            "operations",
            lambda row: shown(_value(row, "operations_factor")),
        ),
        (in_seconds, MS, lambda row: shown(1e3 * row.price.batch / _speed(row))),
        (in_seconds, TOKENS, lambda row: shown(_speed(row), ".1f")),
        (in_seconds, "without", lambda row: shown(row.baseline_tokens_per_second, ".1f")),
    ]
    return [
        *(Column(header, cell) for needed, header, cell in known if needed),
        *(Column(header, _where_it_fits(cell)) for needed, header, cell in gained if needed),
    ]


def _shown(row: Plan) -> int:
    """Returns the γ that a row shows: --gamma if given, else the advised γ."""
    return row.gamma if row.gamma != row.optimal_gamma else row.advice.named


def _value(row: Plan, name: str) -> float:
    gamma = _shown(row)
    if 0 < gamma <= len(row.curve.gamma):
        return float(getattr(row.curve, name)[gamma - 1])
    return 1.0 if row.at is None else float(getattr(row.at, name)[0])


def _speed(row: Plan) -> float:
    baseline = row.baseline_tokens_per_second
    assert baseline is not None
    return baseline * _value(row, "improvement_factor")


def _best(row: Plan) -> str:
    best = row.optimal_gamma
    return f"{best}+" if row.extrapolated_at(best) and _shown(row) != best else str(best)


def _odds(row: Plan) -> str:
    chance = row.advice.gain_probability
    return "-" if chance is None else f"{percentage(chance)} %"


def _of_load(name: str) -> Callable[[Plan], str]:
    return lambda row: str(getattr(row.price.load, name, "-"))


def _where_it_fits(cell: Callable[[Plan], str]) -> Callable[[Plan], str]:
    return lambda row: cell(row) if row.price.load is None or row.price.load.fits else "-"


def _rows_note(row: Plan) -> str:
    """Returns the note after a table's row: too large for the memory, or extrapolated."""
    load = row.price.load
    if load is not None and not load.fits:
        return f"does not fit: {load.needed_gb or 0:.0f} GB a GPU"
    estimated = None if load is None else load.estimated
    marks = [] if estimated is None else [_ESTIMATED[estimated]]
    return " ".join([*["+"] * _beyond_observed(row), *["!"] * _beyond_graphs(row), *marks])


def _beyond_graphs(row: Plan) -> bool:
    wall = row.price.wall
    return wall is not None and bool(wall.beyond(row.price.batch, _shown(row)))


def _beyond_observed(row: Plan) -> bool:
    return row.extrapolated_at(_shown(row))
