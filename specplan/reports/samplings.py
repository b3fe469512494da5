"""Both ways of drafting that a profile has, sampled and by argmax: the K and gain of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engines.kind import engine_kinds, listed
from specplan.reports.output import folded
from specplan.reports.plan import plan_text

if TYPE_CHECKING:
    from estimator.traces.traces import DraftSampling
    from simulator.choice.plan import Plan
    from specplan.reports.plan_json import Basis


class Samplings:
    """Plans of one cost with both ways of drafting.

    The text of `Samplings(plan, other, basis)` is the plan's table; where the other plan advises
    another K, its table follows.
    """

    def __init__(self, plan: Plan, other: Plan, basis: Basis) -> None:
        """Takes the chosen plan, its basis, which names its way of drafting, and the other plan."""
        assert basis.draft_sampling is not None
        self._plan, self._other, self._basis = plan, other, basis
        self._way = other_way(basis.draft_sampling)

    def json(self) -> dict[str, Any]:
        """Returns the advised γ and its speed-up by way of drafting."""
        ways = ((str(self._basis.draft_sampling), self._plan), (self._way, self._other))
        return {
            way: {"advised_gamma": plan.advised_gamma, "improvement_factor": advised_gain(plan)}
            for way, plan in ways
        }

    def text(self) -> str:
        """Returns the readable form: one table, or two where the advised K differ."""
        first = plan_text(self._plan, self._basis)
        if self._other.advised_gamma == self._plan.advised_gamma:
            return f"{first}\n{folded(other_line(self._other, self._way))}"
        basis = replace(self._basis, draft_sampling=self._way, notes=())
        return f"{first}\n\n{folded(drawn_by(self._way))}:\n{plan_text(self._other, basis)}"


def other_way(way: DraftSampling) -> DraftSampling:
    """Returns the way of drafting that is not this one."""
    return "argmax" if way == "sampled" else "sampled"


def drawn_by(way: DraftSampling) -> str:
    """Returns a way of drafting with the servers that draft so by default."""
    servers = [
        name
        for name, kind in engine_kinds().items()
        if kind.exports is not None and kind.exports.draft_sampling == way
    ]
    drafts = "Argmax drafts" if way == "argmax" else "Sampled drafts"
    return f"{drafts}, as by default in {listed(servers)} (--draft-sampling {way})"


def other_line(other: Plan, way: DraftSampling) -> str:
    """Returns the advised K and the speed-up with the other way of drafting, in a line."""
    gamma, gain = other.advised_gamma, advised_gain(other)
    found = f"K = {gamma}, {gain:.2f} times" if gamma > 0 else "do not speculate"
    return f"{drawn_by(way)}: {found}."


def advised_gain(plan: Plan) -> float:
    """Returns the speed-up at the advised γ; 1 where that is 0."""
    gamma = plan.advised_gamma
    return float(plan.curve.improvement_factor[gamma - 1]) if gamma > 0 else 1.0
