"""Acceptances and costs as arguments of `plan` and `traffic`: types, evidence, or profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from simulator.acceptance.acceptance import Acceptance
from simulator.cost.cost import Cost
from simulator.cost.costs import Costs, StatedCosts
from simulator.cost.setting import DEFAULT_CONTEXT
from specplan.api.recorded import Recorded
from specplan.api.request import AcceptanceInput
from specplan.api.runs import Runs, counts_of

if TYPE_CHECKING:
    from engines.observing.observation import Observation
    from estimator.profiles.profile import Profile

# Types that state an acceptance; all but the first may state a cost, too.
Accepting: TypeAlias = "Acceptance | Runs | Recorded | Observation | Profile"
Costing: TypeAlias = "Cost | Costs | Profile | Sequence[Cost] | None"
Given = TypeVar("Given")


def both(acceptance: Accepting, cost: Costing = None) -> tuple[AcceptanceInput, Costs]:
    """Returns acceptance and costs; if cost is None, an acceptance such as `Runs` gives both."""
    if not isinstance(acceptance, Acceptance | Costs):
        from engines.observing.observation import Observation

        if isinstance(acceptance, Observation):
            return _observed(acceptance, _measured(cost))
    acceptance, cost = _measured(acceptance), _measured(cost)
    if cost is None and isinstance(acceptance, Costs):
        cost = acceptance
    if isinstance(acceptance, Runs):
        acceptance = acceptance.acceptance
    if not isinstance(acceptance, Acceptance | Recorded):
        raise ValueError(
            f"acceptance must be an Acceptance (Iid, ByPosition, ...) or Runs, got {acceptance!r}"
        )
    return acceptance if isinstance(acceptance, Recorded) else (acceptance,), costs_of(cost)


def _measured(given: Given) -> Given | Recorded:
    """Returns what was given; a profile as its acceptance and costs."""
    if given is None or isinstance(given, Acceptance | Cost | Costs | Sequence):
        return given
    from estimator.profiles.profile import Profile

    return Recorded(given) if isinstance(given, Profile) else given


def costs_of(cost: Costing) -> Costs:
    """Returns the costs of an argument; raises ValueError if it states none."""
    if isinstance(cost, Costs):
        return cost
    listed = tuple(cost) if isinstance(cost, Sequence) else (cost,)
    costs = tuple(part for part in listed if isinstance(part, Cost))
    if not costs or len(costs) < len(listed):
        raise ValueError(
            f"cost must be a Cost (Ratio, Times, Roofline, Runs, Recorded, ...), got {cost!r}"
        )
    return StatedCosts(costs, several=isinstance(cost, Sequence))


def _observed(seen: Observation, cost: Costing) -> tuple[AcceptanceInput, Costs]:
    """Returns the observed acceptance and the cost, to whose runs the observed run is added."""
    from engines.observing.profiles import observed_run

    runs = cost.runs if isinstance(cost, Runs) else ()
    if cost is None or isinstance(cost, Runs):
        run = observed_run(seen, context=DEFAULT_CONTEXT)
        if run is not None:
            cost = Runs((*runs, run))
    return (seen.acceptance(None, counts_of(runs)),), costs_of(cost)
