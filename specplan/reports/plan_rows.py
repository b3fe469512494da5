"""Rows of a table of plans: values and columns, and which of several drafts is the fastest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.choice.odds import certainty, percentage
from simulator.choice.plan import Plan
from simulator.numerics.intervals import percent
from specplan.reports.deployment import gpus_of
from specplan.reports.plan import speeds
from specplan.reports.table import GAMMA, MS, TOKENS, Column

# Columns that say for which setting a plan is, if plans differ in it.
SETTINGS = ("gpu", "alpha", "c", "context", "batch")


def cells_of(row: Plan) -> dict[str, Any]:
    """Returns a plan's values for the table; a plan that does not fit in memory has no gain."""
    load, setting, best, gamma = row.setting.load, row.setting, row.optimal_gamma, shown_gamma(row)
    extrapolated = row.extrapolated_at(gamma)
    best_beyond = row.extrapolated_at(best) and gamma != best
    beyond_graphs = bool(setting.beyond_graphs(gamma))
    cells: dict[str, Any] = {
        **{name: str(getattr(load, name, "-")) for name in ("gpu", "tp", "most_batch", "context")},
        "alpha": f"{row.alpha:.4g}",
        "c": f"{row.cost.c:.4g}",
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
            "chance": percentage(chance),
            "baseline": baseline,
            "note": " ".join(marks),
        }
    )


def drafting_json(row: Plan) -> dict[str, Any] | None:
    """Returns the numbers at the draft length of a plan's advice, also where none is advised.

    None if no draft length can run.
    """
    gamma = row.advice.named
    if gamma == 0:
        return None
    point = row.point(gamma)
    ends = {"improvement_factor_low": point.low, "improvement_factor_high": point.high}
    return {
        "gamma": gamma,
        "expected_tokens": point.expected_tokens,
        "improvement_factor": point.improvement_factor,
        **(ends if row.curve.in_doubt else {}),
        **speeds(row, point.improvement_factor),
    }


def speed_ups_json(row: Plan) -> list[float | None]:
    """Returns the speed-up at each γ from 1; None where a γ cannot be advised."""
    able = set(row.candidates.tolist())
    factors = zip(row.curve.gamma.tolist(), row.curve.improvement_factor.tolist(), strict=True)
    return [factor if gamma in able else None for gamma, factor in factors]


def columns_of(rows: Sequence[Plan]) -> list[Column[dict[str, Any]]]:
    """Returns the columns: settings in which the plans differ, then γ, speed-up and times."""
    several = len(gpus_of(rows)) > 1
    loads = [row.setting.load for row in rows if row.setting.load is not None]
    in_seconds = all(row.tokens_per_second is not None for row in rows)
    in_doubt = any(row.curve.in_doubt for row in rows)
    by_load = bool(loads) and len({row.alpha for row in rows}) == 1
    columns: list[tuple[bool, str, str]] = [
        (several, "gpu", "{gpu}"),
        (len({load.tp for load in loads}) > 1, "TP", "{tp}"),
        (several, "fits up to batch", "{most_batch}"),
        (not by_load, "alpha", "{alpha}"),
        (not by_load, "c", "{c}"),
        (len({load.context for load in loads}) > 1, "context", "{context}"),
        (any(row.setting.batch > 1 for row in rows), "batch", "{batch}"),
        (True, "best K", "{best}"),
        (True, "advised K", "{advised}"),
        (any(shown_gamma(row) != row.advised_gamma for row in rows), GAMMA, "{gamma}"),
        (True, "tokens/call", "{expected_tokens:.2f}"),
        (True, "speed-up", "{improvement_factor:.2f}"),
        (in_doubt, percent(), "{low:.2f} to {high:.2f}"),
        (in_doubt, "gain", "{chance}"),
        (not in_seconds and not in_doubt, "operations", "{operations_factor:.2f}"),
        (in_seconds, MS, "{ms_per_token:.2f}"),
        (in_seconds, TOKENS, "{tokens_per_second:.1f}"),
        (in_seconds, "without", "{baseline:.1f}"),
    ]
    return [(header, cell) for needed, header, cell in columns if needed]


def fastest(rows: Sequence[Plan], drafts: Sequence[str]) -> str:
    """Returns which draft is the fastest, how sure its gain is, and the next one."""
    row, gamma = rows[0], shown_gamma(rows[0])
    if not row.setting.fits:
        return "No draft fits into memory with the target."
    point, chance = row.point(gamma), row.advice.gain_probability
    if gamma == 0 or (row.advised_gamma == 0 and not row.advice.undecided):
        return f"No draft gains at batch {row.setting.batch}: do not speculate."
    odds = "" if chance is None else f", a gain is {certainty(chance)} ({percentage(chance)})"
    interval = f" ({percent()}: {point.low:.2f} to {point.high:.2f})" if row.curve.in_doubt else ""
    said = (
        f"{drafts[0]} with K = {gamma} is the fastest at batch {row.setting.batch}: "
        f"{point.improvement_factor:.2f} times{interval}{odds}."
    )
    if len(rows) == 1 or not rows[1].setting.fits:
        return said
    second = rows[1].point(shown_gamma(rows[1])).improvement_factor
    return f"{said} Next is {drafts[1]} with {second:.2f} times."


def shown_gamma(row: Plan) -> int:
    """Returns the γ whose speed-up the table shows: --gamma if given, else the advised γ."""
    return row.gamma if row.gamma != row.optimal_gamma else row.advice.named
