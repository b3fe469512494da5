"""Runs alone: a step, and its split between a block and each drafted token as far as they tell."""

from __future__ import annotations

from dataclasses import dataclass

import click

from simulator.cost.pricing import Pricing
from specplan.options.cost import Background, CostKind
from specplan.options.runs import Runs


@dataclass(frozen=True)
class Settings(Runs):
    """The runs."""


def _price(settings: Settings, _: Background) -> tuple[Pricing, ...]:
    from simulator.cost.machine import Unseen
    from simulator.cost.posterior import infer
    from simulator.cost.published_prior import vague_prior

    runs = settings.runs or ()
    loads = list(dict.fromkeys(run.load for run in runs))
    if len(loads) > 1:
        raise click.UsageError(
            "--run of several batches or contexts needs --target-config, --draft-config and --gpu"
        )
    prior = vague_prior([run.step_seconds for run in runs])
    posterior = infer(Unseen(), prior, runs)
    return (Pricing.of_doubt(posterior, loads[0]),)


KIND = CostKind(order=7, settings=Settings, needs=("runs",), price=_price)
