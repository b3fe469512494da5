"""Runs alone: a step, and its split between a block and each drafted token as far as they tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from simulator.cost.pricing import Pricing
from specplan.options.kinds import Background, CostKind
from specplan.options.runs import Runs

if TYPE_CHECKING:
    from simulator.cost.runs import Run


@dataclass(frozen=True)
class OfRuns(Runs, CostKind):
    """The runs."""

    order = 7
    needs = ("runs",)

    def price(self, background: Background) -> tuple[Pricing, ...]:
        runs = self.runs or ()
        if len({run.load for run in runs}) > 1:
            raise click.UsageError(
                "--run of several batches or contexts needs --target-config, --draft-config and "
                "--gpu"
            )
        return (price_of_runs(runs),)


def price_of_runs(runs: Sequence[Run]) -> Pricing:
    """Returns what blocks cost as runs of one load tell, with its doubt."""
    from simulator.cost.machine import Unseen
    from simulator.cost.posterior import infer
    from simulator.cost.published_prior import vague_prior

    prior = vague_prior([run.step_seconds for run in runs])
    return Pricing.of_doubt(infer(Unseen(), prior, runs), runs[0].load)
