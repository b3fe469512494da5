"""The evidence behind plans in words: where their acceptance and their costs come from."""

import re
from collections.abc import Sequence
from datetime import date

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.plan import Plan
from simulator.cost.cost import Cost
from simulator.numerics.intervals import percent

# How the acceptance rate and the accepted share of drafted tokens are related.
ALPHA = (
    "alpha is the chance of a token before which all were accepted. The share also counts the "
    "tokens after a rejection, and falls with gamma."
)
# The exact source of costs, in brackets.
SOURCE = re.compile(r" \([^()]*\)")


def origin_text(plan: Plan) -> str:
    """Returns where acceptance and costs come from, for readers who do not know α and c."""
    load, runs = plan.setting.load, _runs([plan.cost])
    taken = _stated(plan.cost, recorded=bool(plan.acceptance.source.recorded))
    if load is not None:
        taken = f"a model of {load.gpu}" if load.gpu else f"costs {load.origin}"
    if runs:
        taken = runs if load is None else f"{taken} and {runs}"
    return f"{_accepted(plan.acceptance)} and {taken}"


def basis_text(acceptance: Acceptance, costs: Sequence[Cost]) -> str:
    """Returns the evidence behind acceptance and costs, and whether it includes runs."""
    return rests_on(_accepted(acceptance), costs, recorded=bool(acceptance.source.recorded))


def observed_basis(drafts: int, cost: Cost) -> str:
    """Returns the evidence of a plan for an observed server; drafts: that were counted."""
    return rests_on(f"{drafts:,} counted drafts (read on {date.today()})", [cost], recorded=False)


def observed_intervals(cost: Cost, gamma: int) -> str:
    """Returns what intervals and odds of a plan for an observed server leave out, and the remedy.

    cost: if its uncertainty is known, nothing is left out, and the text is "".
    gamma: draft length of the server.
    """
    if cost.setting.load is not None or cost.posterior is not None:
        return ""
    step = f"{1e3 * cost.step_seconds:.4g} ms a target step, " * cost.in_seconds
    free = ", checking K + 1 tokens as fast as one" * cost.verification_free
    times = (
        f"your times ({step}c {cost.c:.3g}{free}) are"
        if cost.in_seconds
        else (f"your c ({cost.c:.3g}{free}) is")
    )
    return (
        f"Intervals ({percent()}) and odds are of the acceptance only: {times} taken as exact. "
        "To cover times, too, state runs in their place: --run gamma=0,tpot=MS and --run "
        f"gamma={gamma},tpot=MS,length=L, each with error=PERCENT if its error is not 2 %."
    )


def rests_on(accepted: str, costs: Sequence[Cost], *, recorded: bool) -> str:
    """Returns the evidence: `accepted` for acceptance, then the source of costs.

    recorded: whether costs of no load and no runs are a profile's.
    """
    first, runs = costs[0], _runs(costs)
    loads = [cost.setting.load for cost in costs if cost.setting.load is not None]
    origins = {load.origin: load.gpu for load in loads}
    texts = list(origins)
    if len(set(origins.values())) > 1:  # without exact sources, which the inputs name
        short = {SOURCE.sub("", origin): gpu for origin, gpu in origins.items()}
        alike = {origin.replace(str(gpu), "each GPU") for origin, gpu in short.items()}
        texts = list(alike if len(alike) == 1 else short)
    taken = f"{runs} of your server" if runs else _stated(first, recorded=recorded)
    if texts:
        taken = f"costs {' and '.join(texts)}"
    modelled = any(load.modelled for load in loads)
    measured = runs or (first.in_seconds and not modelled)
    missing = "" if measured else ", and on no run of your server"
    return f"Rests on {accepted} and {taken}{missing}."


def _accepted(acceptance: Acceptance) -> str:
    source = acceptance.source
    text = {"replay": "the profile's texts"}.get(acceptance.kind, "your acceptance rate")
    text = "observed acceptance" if source.counted else text
    return text + f" ({source.recorded})" * bool(source.recorded)


def _stated(cost: Cost, *, recorded: bool) -> str:
    """Returns where costs come from that belong to no load."""
    if recorded:
        return "the profile's times"
    return "your times" if cost.in_seconds else "your c"


def _runs(costs: Sequence[Cost]) -> str:
    """Returns how many runs of the user's server are in the costs, in words; "" for none."""
    runs = len({run for cost in costs for run in cost.own_runs})
    return "1 run" if runs == 1 else f"{runs} runs" * bool(runs)
