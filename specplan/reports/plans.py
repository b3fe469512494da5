"""Several plans as a table with one line for each, and as a schedule by batch size."""

from collections.abc import Sequence
from typing import Any

from simulator.choice.advice import percentage
from simulator.choice.plan import Plan
from simulator.numerics.intervals import percent
from specplan.reports.advice import NOT_CALIBRATED
from specplan.reports.deployment import (
    gpus_of,
    graphs_line,
    of_loads,
    rows_notes,
    schedules_text,
)
from specplan.reports.plan import BEYOND, Origin
from specplan.reports.table import GAMMA, MS, TOKENS, Column, folded, table

_ESTIMATED = {"between": "interpolated", "beyond": "beyond your runs"}


def plans_text(rows: Sequence[Plan], origin: Origin) -> str:
    """Returns several plans as a table with their schedule."""
    notes = [*rows_notes(rows), *origin.notes]
    cells = [_cells(row) for row in rows]
    lines = [table(cells, _columns(rows), note=lambda each: each["note"])]
    if any(each["extrapolated"] for each in cells):
        lines.append(BEYOND)
    wall = rows[0].price.wall
    if wall is not None and any(each["beyond_graphs"] for each in cells):
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
        lines += ["", *map(folded, schedules_text(rows, origin.only))]
    return "\n".join([*map(folded, notes), *([""] if notes else []), *lines])


def _cells(row: Plan) -> dict[str, Any]:
    """Returns a plan's values for the table; a plan that does not fit in memory has no gain."""
    load, price, best, gamma = row.price.load, row.price, row.optimal_gamma, _shown(row)
    extrapolated = row.extrapolated_at(gamma)
    best_beyond = row.extrapolated_at(best) and gamma != best
    beyond_graphs = price.wall is not None and bool(price.wall.beyond(price.batch, gamma))
    cells: dict[str, Any] = {
        **{name: str(getattr(load, name, "-")) for name in ("gpu", "most_batch", "context")},
        "alpha": row.alpha,
        "c": price.cost.c,
        "batch": price.batch,
        "extrapolated": extrapolated or best_beyond,
        "beyond_graphs": beyond_graphs,
    }
    if load is not None and not load.fits:
        return cells | {"note": f"does not fit: {load.needed_gb or 0:.0f} GB a GPU"}
    marks = ["+"] * extrapolated + ["!"] * beyond_graphs
    if load is not None and load.estimated is not None:
        marks.append(_ESTIMATED[load.estimated])
    chance, baseline = row.advice.gain_probability, row.baseline_tokens_per_second
    cells |= row.point(gamma)._asdict()
    speed = None if baseline is None else baseline * cells["improvement_factor"]
    return cells | {
        "best": f"{best}+" if best_beyond else str(best),
        "advised": "?" if row.advice.undecided else row.advised_gamma,
        "chance": None if chance is None else percentage(chance),
        "ms": None if speed is None else 1e3 * price.batch / speed,
        "speed": speed,
        "baseline": baseline,
        "note": " ".join(marks),
    }


def _shown(row: Plan) -> int:
    """Returns the γ whose speed-up the table shows: --gamma if given, else the advised γ."""
    return row.gamma if row.gamma != row.optimal_gamma else row.advice.named


def _columns(rows: Sequence[Plan]) -> list[Column[dict[str, Any]]]:
    """Returns the columns: settings in which the plans differ, then γ, speed-up and times."""
    several = len(gpus_of(rows)) > 1
    loads = [row.price.load for row in rows if row.price.load is not None]
    in_seconds = all(row.tokens_per_second is not None for row in rows)
    in_doubt = any(row.curve.in_doubt for row in rows)
    by_load = bool(loads) and len({row.alpha for row in rows}) == 1
    columns: list[tuple[bool, str, str]] = [
        (several, "gpu", "{gpu}"),
        (several, "fits up to batch", "{most_batch}"),
        (not by_load, "alpha", "{alpha:.4g}"),
        (not by_load, "c", "{c:.4g}"),
        (len({load.context for load in loads}) > 1, "context", "{context}"),
        (any(row.price.batch > 1 for row in rows), "batch", "{batch}"),
        (True, "best K", "{best}"),
        (True, "advised K", "{advised}"),
        (any(_shown(row) != row.advised_gamma for row in rows), GAMMA, "{gamma}"),
        (True, "tokens/call", "{expected_tokens:.2f}"),
        (True, "speed-up", "{improvement_factor:.2f}"),
        (in_doubt, percent(), "{low:.2f} to {high:.2f}"),
        (in_doubt, "gain", "{chance} %"),
        (not in_seconds and not in_doubt, "operations", "{operations_factor:.2f}"),
        (in_seconds, MS, "{ms:.2f}"),
        (in_seconds, TOKENS, "{speed:.1f}"),
        (in_seconds, "without", "{baseline:.1f}"),
    ]
    return [(header, cell) for needed, header, cell in columns if needed]
