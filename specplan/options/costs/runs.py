"""Costs fitted to runs: times of a step, of a block and of each drafted token."""

from dataclasses import dataclass

import click

from simulator.cost.pricing import Pricing
from specplan.options.deployment import Loads
from specplan.options.kinds import CostKind
from specplan.options.runs import Runs


@dataclass(frozen=True)
class OfRuns(Loads, Runs, CostKind):
    """The runs and the batches to plan for; see each option's help."""

    order = 7
    needs = ("runs",)

    def price(self, max_gamma: int) -> tuple[Pricing, ...]:
        from simulator.cost.fitted.by_batch import prices_of_runs

        if self.context is not None:
            raise click.UsageError("--context needs --target-config: runs have their own context")
        return prices_of_runs(self.runs or (), self.batch)
