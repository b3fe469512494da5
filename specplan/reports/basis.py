"""The evidence behind plans in words: where their acceptance and their costs come from."""

import re
from collections.abc import Sequence

from simulator.choice.plan import Plan

# The exact source of costs, in brackets.
_SOURCE = re.compile(r" \([^()]*\)")


def origin_text(plan: Plan) -> str:
    """Returns where acceptance and costs come from, for readers who do not know α and c."""
    load, runs, taken = plan.setting.load, _runs([plan]), _stated(plan)
    if load is not None:
        taken = f"a model of {load.gpu}" if load.gpu else f"costs {load.origin}"
    if runs:
        taken = runs if load is None else f"{taken} and {runs}"
    return f"{_accepted(plan)} and {taken}"


def basis_text(rows: Sequence[Plan]) -> str:
    """Returns the evidence behind the numbers of plans, and whether it includes runs."""
    first, runs = rows[0], _runs(rows)
    loads = [row.setting.load for row in rows if row.setting.load is not None]
    origins = {load.origin: load.gpu for load in loads}
    if len(set(origins.values())) > 1:  # without what differs: the inputs name each
        origins = {_SOURCE.sub("", origin.replace(str(gpu), "each GPU")): None
                   for origin, gpu in origins.items()}  # fmt: skip
    costs = f"{runs} of your server" if runs else _stated(first)
    if origins:
        costs = f"costs {' and '.join(origins)}"
    modelled = any(load.modelled for load in loads)
    measured = runs or (first.cost.in_seconds and not modelled)
    missing = "" if measured else ", and on no run of your server"
    return f"Rests on {_accepted(first)} and {costs}{missing}."


def _accepted(plan: Plan) -> str:
    source = plan.acceptance.source
    text = {"replay": "the profile's texts"}.get(plan.acceptance.kind, "your acceptance rate")
    text = "counted acceptance" if source.counted else text
    return text + f" ({source.recorded})" * bool(source.recorded)


def _stated(plan: Plan) -> str:
    """Returns where costs come from that belong to no load."""
    if plan.acceptance.source.recorded:
        return "the profile's times"
    return "your times" if plan.cost.in_seconds else "your c"


def _runs(rows: Sequence[Plan]) -> str:
    """Returns how many runs of the user's server are in the costs, in words; "" for none."""
    runs = len({run for row in rows for run in row.cost.own_runs})
    return "1 run" if runs == 1 else f"{runs} runs" * bool(runs)
