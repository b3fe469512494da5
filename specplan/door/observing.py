"""Builds the request of `specplan observe`, and plans with the observed acceptance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from specplan.door.prices import law_of, sized
from specplan.options.command import fill, is_stated
from specplan.options.inputs.profile import Profiled
from specplan.options.kinds import CostKind, chosen_cost, cost_kinds, prices
from specplan.options.plan_options import COPIES, DRAFT_KINDS, Followed, Observed
from specplan.options.runs import Runs, completed, counts_of
from specplan.reports.plan import Origin

if TYPE_CHECKING:
    from engines.observing.observation import Observation
    from estimator.profiles.profile import Profile
    from simulator.choice.plan import Plan
    from simulator.cost.cost import Cost
    from simulator.cost.fitted.runs import Run


@dataclass(frozen=True)
class ObserveArguments:
    """A request to `specplan observe`.

    reading: options that name the sources: a `Followed` with --follow, else an `Observed`.
    profile: the stated profile, for ĉ (operations of a draft step / target step); None: none.
    costs: cost of blocks that the user states; None: computed from the sources' times, if any.
    """

    reading: Followed | Observed
    profile: Profile | None
    costs: CostKind | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that a user states with --run; empty for other costs."""
        return (self.costs.runs or ()) if isinstance(self.costs, Runs) else ()

    def completed(self, observation: Observation) -> ObserveArguments:
        """Returns the request, in which runs without an accepted length get the observed one."""
        if not isinstance(self.costs, Runs):
            return self
        law = observation.acceptance(law_of(self.reading.draft_kind))
        runs = completed(self.runs, law, observation.counted)
        return replace(self, costs=replace(self.costs, runs=runs or None))

    def price(self, run: Run | None = None) -> Cost | None:
        """Returns the cost of blocks; None if neither the options nor `run` give one.

        run: the observed γ and time per token, added to the stated runs; None: no times observed.
        """
        costs = self.costs
        if costs is None:
            from simulator.cost.fitted.by_batch import cost_of_runs

            return None if run is None else cost_of_runs((run,))
        if run is not None and isinstance(costs, Runs):
            costs = replace(costs, runs=(*self.runs, run))  # type: ignore[call-arg]
        found = prices(costs, self.reading.max_gamma, self.profile)
        if run is not None and len(found) > 1:
            found = tuple(each for each in found if each.point == run.load) or found
        if len(found) > 1:
            raise click.UsageError(
                f"observe takes one cost, got {len(found)}: state one c, one load"
            )
        return found[0]

    def planned(self, observation: Observation, run: Run | None = None) -> Plan | None:
        """Returns the plan for the observed acceptance; None if no cost of blocks is known.

        run: the observed γ and time per token; None: no times observed.
        """
        from simulator.choice.plans import PlanRequest, plans

        price, reading = self.completed(observation).price(run), self.reading
        if price is None:
            return None
        served, share = observation.model, observation.draft_share
        price = sized(price, reading, self.runs, served=served, share=share)
        kind = law_of(reading.draft_kind, (price,))
        acceptance = observation.acceptance(kind, counts_of(self.runs))
        request = PlanRequest(
            (acceptance,), (price,), gamma=observation.gamma, max_gamma=reading.max_gamma
        )
        return plans(request)[0]


def origin_of(row: Plan, reading: Observed) -> Origin:
    """Returns the origin of the numbers in `row`, a plan made from observed counts."""
    return Origin(
        counted=True,
        c_hat_is_c=row.setting.c_hat is None,
        draft_sampling=reading.draft_sampling,
        notes=row.acceptance.contradictions,
        drafter=COPIES.get(reading.draft_kind or ""),
        draft_kind=DRAFT_KINDS.get(reading.draft_kind or ""),
        draft=reading.draft,
    )


def asked(ctx: click.Context) -> ObserveArguments:
    """Returns the request that the stated options make; refuses options that exclude each other."""
    follows = ctx.params["follow"]
    records: list[type] = [Followed if follows else Observed, Profiled]
    if any(is_stated(ctx, name) for kind in cost_kinds() for name in kind.reads()):
        records.append(chosen_cost(ctx))
    elif follows:
        require_planned(ctx, planned=False)
    reading, file, *costs = fill(ctx, records, way="--follow" if follows else "")
    asking = ObserveArguments(reading, file.profile, *costs)
    if all(run.counted for run in asking.runs):
        asking.price()  # Refuses options before anything is read.
    return asking


def require_planned(ctx: click.Context, *, planned: bool) -> None:
    """Raises click.UsageError if --max-gamma or --export is given but nothing is planned."""
    for name, flag in (("max_gamma", "--max-gamma"), ("server", "--export")):
        if not planned and is_stated(ctx, name):
            raise click.UsageError(f"{flag} needs a cost, such as --c: nothing is planned")
