"""Plans with the acceptance that a deployment's sources counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simulator.choice.plans import PlanRequest, plans
from simulator.cost.costs import Costs
from simulator.cost.fitted.by_batch import cost_of_runs
from specplan.api.completed_costs import draft_class_of, sized, with_c_hat
from specplan.api.runs import completed, counts_of
from specplan.api.settings import DraftNamed

if TYPE_CHECKING:
    from engines.observing.observation import Observation
    from estimator.profiles.profile import Profile
    from simulator.choice.plan import Plan
    from simulator.cost.cost import Cost
    from simulator.cost.fitted.runs import Run


@dataclass(frozen=True)
class ObservedPlan:
    """A plan to be made for an observed deployment.

    named: names of the models, the kind of draft, and the largest γ.
    profile: the stated profile, for ĉ (operations of a draft step / target step); None: none.
    costs: cost of blocks that the user states; None: computed from the sources' times, if any.
    """

    named: DraftNamed
    profile: Profile | None = None
    costs: Costs | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that a user states; empty for other costs."""
        return () if self.costs is None else self.costs.runs

    @property
    def fitted(self) -> bool:
        """Whether an observed time can be added to the costs."""
        return self.costs is None or self.costs.fitted

    def completed(self, observation: Observation) -> ObservedPlan:
        """Returns this plan, in which runs without an accepted length get the observed one."""
        if self.costs is None or all(run.counted for run in self.runs):
            return self
        law = observation.acceptance(draft_class_of(self.named.draft_kind))
        runs = completed(self.runs, law, observation.counted)
        return replace(self, costs=self.costs.with_runs(runs))

    def cost(self, run: Run | None = None) -> Cost | None:
        """Returns the cost of blocks; None if neither the user nor `run` give one.

        run: the observed γ and time per token, added to the stated runs; None: no times observed.
        """
        costs = self.costs
        if costs is None:
            return None if run is None else cost_of_runs((run,))
        if run is not None and costs.fitted:
            costs = costs.with_runs((*self.runs, run))
        c_hat = None if self.profile is None else self.profile.c_hat
        priced = with_c_hat(costs.planned(self.named.max_gamma), c_hat)
        if run is not None and len(priced) > 1:
            priced = [cost for cost in priced if cost.point == run.load] or priced
        if len(priced) > 1:
            raise ValueError(f"observe takes one cost, got {len(priced)}: state one c, one load")
        return priced[0]

    def plan(self, observation: Observation, run: Run | None = None) -> Plan | None:
        """Returns the plan for the observed acceptance; None if no cost of blocks is known.

        run: the observed γ and time per token; None: no times observed.
        """
        cost, named = self.completed(observation).cost(run), self.named
        if cost is None:
            return None
        served, share = observation.model, observation.draft_share
        cost = sized(cost, named, self.runs, served=served, share=share)
        draft_class = draft_class_of(named.draft_kind, (cost,))
        acceptance = observation.acceptance(draft_class, counts_of(self.runs))
        request = PlanRequest(
            (acceptance,), (cost,), gamma=observation.gamma, max_gamma=named.max_gamma
        )
        (row,) = plans(request)
        return replace(row, only=None)
