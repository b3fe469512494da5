"""Costs by the roofline, what engines spend beside it on average, and the deployment's own runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from engines.registry import engine_kinds
from simulator.cost.pricing import Pricing
from specplan.options.costs.roofline import Roofline
from specplan.options.declared import option
from specplan.options.deployment import deployment_of
from specplan.options.kinds import Background
from specplan.options.runs import Runs

if TYPE_CHECKING:
    from simulator.cost.posterior import Posterior
    from simulator.cost.roofline_cost import Deployment

_FORMATS = {"fp8": "fp8", "nvfp4": "fp4", "mxfp4": "fp4", "int4": "int4",
            "q8_0": "gguf", "q4_0": "gguf"}  # fmt: skip


@dataclass(frozen=True)
class EngineRoofline(Roofline, Runs):
    """Models, machine and loads, the engine and its runs."""

    order = 8

    engine_family: str | None = option(
        "--engine",
        type=click.Choice(tuple(engine_kinds())),
        help="With --target-config: whose times beside the models are assumed, as published "
        "measurements have them; every gamma with its interval.",
    )

    def price(self, background: Background) -> tuple[Pricing, ...]:
        from simulator.cost.machine import LoadPoint

        posterior = _posterior(self, deployment_of(self))
        runs = len(posterior.runs)
        known = "public measurements" + (f" and {runs} run{'s' * (runs > 1)}" if runs else "")
        priced = []
        for each in super().price(background):
            assert each.load is not None
            load = replace(each.load, origin=f"{each.load.origin}, {known}", speeds=None)
            point = LoadPoint(load.context, each.batch)
            priced.append(replace(each, load=load).in_doubt(posterior, point))
        return tuple(priced)


def _posterior(settings: EngineRoofline, deployment: Deployment) -> Posterior:
    from simulator.cost.machine import Remembered
    from simulator.cost.posterior import infer
    from simulator.cost.published_prior import DRAFT_OF_KIND, Traits, published_prior
    from simulator.cost.served import Served

    target = deployment.target
    formats = {each.computed_in for each in target.weights}
    stored = next((name for name in ("fp4", "fp8") if name in formats), "plain")
    traits = Traits(
        settings.engine_family,
        DRAFT_OF_KIND[deployment.draft.kind],
        _FORMATS.get(settings.dtype or "", stored),
        mixture=any(each.experts for each in target.weights),
    )
    machine = Remembered(Served(deployment))
    known = {}
    if settings.efficiency is not None:
        known["roof"] = 1 / settings.efficiency
    if settings.layer_overhead_us is not None:
        known["layer"] = settings.layer_overhead_us / 1e6
    return infer(machine, published_prior(traits).fixed(**known), settings.runs or ())
