"""Several plans as a reader sees them: a table with one line for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from specplan.reports.deployment import rows_notes, schedules_text
from specplan.reports.output import folded
from specplan.reports.table import GAMMA, MS, TOKENS, Column, shown, table

if TYPE_CHECKING:
    from simulator.choice.grid import Row

BEYOND = "+ beyond the observed gamma: extrapolated"


def rows_text(rows: Sequence[Row], basis_notes: Sequence[str]) -> str:
    """Returns a table with one line per plan, on what it rests, and the schedule of a load."""
    notes = [*rows_notes(rows[0].price), *basis_notes]
    lines = [table(rows, _columns(rows), note=_note)]
    if any(_beyond_observed(row) for row in rows):
        lines.append(BEYOND)
    if any(row.plan.optimal_gamma == 0 for row in rows):
        lines.append("Best K (gamma) 0: do not speculate.")
    if of_loads(rows):
        lines += ["", *map(folded, schedules_text(rows))]
    return "\n".join([*map(folded, notes), *([""] if notes else []), *lines])


def _columns(rows: Sequence[Row]) -> list[Column[Row]]:
    """Returns what differs between these rows, and what each gains."""
    plans = [row.plan for row in rows]
    loads = [row.price.load for row in rows if row.price.load is not None]
    in_seconds = all(plan.tokens_per_second is not None for plan in plans)
    known: list[tuple[bool, str, Callable[[Row], str]]] = [
        (True, "alpha", lambda row: f"{row.plan.alpha:.4g}"),
        (True, "c", lambda row: f"{row.plan.c:.4g}"),
        (len({load.context for load in loads}) > 1, "context", _context),
        (any(plan.batch > 1 for plan in plans), "batch", lambda row: str(row.plan.batch)),
    ]
    gained: list[tuple[bool, str, Callable[[Row], str]]] = [
        (True, "best K", lambda row: str(row.plan.optimal_gamma)),
        (bool(loads), "advised K", lambda row: str(row.advised_gamma)),
        (any(p.gamma != p.optimal_gamma for p in plans), GAMMA, lambda row: str(row.plan.gamma)),
        (True, "tokens/call", lambda row: shown(row.plan.expected_tokens)),
        (True, "speed-up", lambda row: shown(row.plan.improvement_factor)),
        (not in_seconds, "operations", lambda row: shown(row.plan.operations_factor)),
        (in_seconds, MS, _milliseconds),
        (in_seconds, TOKENS, lambda row: shown(row.plan.tokens_per_second, ".1f")),
        (in_seconds, "alone", lambda row: shown(row.plan.baseline_tokens_per_second, ".1f")),
    ]
    return [
        *(Column(header, cell) for needed, header, cell in known if needed),
        *(Column(header, _where_it_fits(cell)) for needed, header, cell in gained if needed),
    ]


def _milliseconds(row: Row) -> str:
    speed = row.plan.tokens_per_second
    return shown(None if speed is None else 1e3 * row.plan.batch / speed)


def _where_it_fits(cell: Callable[[Row], str]) -> Callable[[Row], str]:
    return lambda row: cell(row) if row.price.load is None or row.price.load.fits else "-"


def _context(row: Row) -> str:
    return "" if row.price.load is None else str(row.price.load.context)


def _note(row: Row) -> str:
    """Returns what stands after a row of a table: that it does not fit, or is extrapolated."""
    load = row.price.load
    if load is not None and not load.fits:
        return f"does not fit: {load.needed_gb or 0:.0f} GB a GPU"
    return "+" if _beyond_observed(row) else ""


def _beyond_observed(row: Row) -> bool:
    """Returns whether a gamma that a row of a table shows is larger than any observed one."""
    plan = row.plan
    return any(map(plan.extrapolated_at, {plan.gamma, plan.optimal_gamma, row.advised_gamma}))


def of_loads(rows: Sequence[Row]) -> bool:
    """Returns whether rows differ in their load alone, so that a schedule tells of them."""
    return rows[0].price.load is not None and len({row.plan.alpha for row in rows}) == 1
