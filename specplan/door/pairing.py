"""Completes a plan's acceptance and cost from Python: either may come from the other's source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from engines.observing.observation import Observation
from estimator.profiles.profile import Profile
from specplan.door.stated import ObservedCounts, Runs, require_ranges
from specplan.options.acceptances.profile import ProfileAcceptance
from specplan.options.acceptances.rates import Lengths
from specplan.options.costs.profile import OfProfile, ProfileFile
from specplan.options.costs.times import OfRuns
from specplan.options.kinds import AcceptanceKind, CostKind
from specplan.options.runs import counts_of


def both(
    acceptance: AcceptanceKind | OfRuns | Observation | Profile, cost: CostKind | Profile | None
) -> tuple[AcceptanceKind, CostKind]:
    """Returns acceptance and cost; a source that holds both, such as Runs, fills the missing one.

    Raises ValueError if either is missing.
    """
    if isinstance(acceptance, Profile):
        acceptance = ProfileAcceptance(ProfileFile(acceptance))
    if isinstance(cost, Profile):
        cost = OfProfile(ProfileFile(cost))
    if isinstance(acceptance, Observation):
        acceptance, cost = _observed(acceptance, cost)
    if isinstance(acceptance, OfRuns):
        cost = acceptance if cost is None else cost
        acceptance = Lengths(runs=acceptance.runs)
    if cost is None and isinstance(acceptance, ProfileAcceptance):
        cost = OfProfile(acceptance.profile_path)
    if isinstance(cost, ProfileAcceptance):
        cost = OfProfile(cost.profile_path)
    if not isinstance(acceptance, AcceptanceKind):
        raise ValueError(f"acceptance must be Iid, ByPosition, ... or Runs, got {acceptance!r}")
    if not isinstance(cost, CostKind):
        raise ValueError(f"cost must be Ratio, Times, Roofline, Runs or Recorded, got {cost!r}")
    require_ranges(acceptance, cost)
    return acceptance, cost


def _observed(seen: Observation, cost: CostKind | None) -> tuple[AcceptanceKind, CostKind | None]:
    """Returns the observed acceptance, and the cost with the observed time added to its runs."""
    from engines.observing.profiles import observed_run
    from simulator.cost.pricing import DEFAULT_CONTEXT

    runs = (cost.runs or ()) if isinstance(cost, OfRuns) else ()
    if cost is None or isinstance(cost, OfRuns):
        run = observed_run(seen, context=DEFAULT_CONTEXT)
        if run is not None:
            cost = Runs((*runs, run))
    return ObservedCounts(seen, counts_of(runs)), cost


@contextmanager
def usage_as_value_error() -> Iterator[None]:
    """Turns the command line's usage errors into ValueErrors."""
    try:
        yield
    except click.UsageError as error:
        raise ValueError(error.format_message()) from None
