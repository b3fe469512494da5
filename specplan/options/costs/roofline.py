"""Costs by the roofline of a GPU and the shapes of two models, for each batch size and context."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import click

from simulator.cost.pricing import DEFAULT_CONTEXT, Load, Pricing
from specplan.options.deployment import (
    INSTEAD,
    NEEDS,
    Deployed,
    Loads,
    deployment_of,
)
from specplan.options.kinds import Background, CostKind

if TYPE_CHECKING:
    from simulator.cost.roofline_cost import Deployment

MOST_CELLS = 10_000


@dataclass(frozen=True)
class Roofline(Deployed, Loads, CostKind):
    """Models, machine and loads."""

    order = 4
    needs = NEEDS
    instead = INSTEAD

    def price(self, background: Background) -> tuple[Pricing, ...]:
        deployment = deployment_of(self)
        batches = (1,) if self.batch is None else self.batch
        contexts = (DEFAULT_CONTEXT,) if self.context is None else self.context
        cells = len(batches) * len(contexts)
        if cells > MOST_CELLS:
            raise click.UsageError(f"a grid must have at most {MOST_CELLS} cells, got {cells}")
        return tuple(
            _priced(deployment, self.dtype, batch, context, background.max_gamma)
            for context, batch in product(contexts, batches)
        )


def _priced(
    deployment: Deployment, dtype: str | None, batch: int, context: int, max_gamma: int
) -> Pricing:
    from simulator.cost.efficiency import MEASURED_HIGH, MEASURED_LOW
    from simulator.cost.roofline_cost import (
        draft_overhead_share,
        draft_pass_seconds,
        fits,
        needed_bytes,
        operations_ratio,
        prompt_seconds,
        roofline_cost,
    )

    gpu, tp = deployment.hardware.name, deployment.conditions.tp
    return Pricing(
        roofline_cost(deployment, context=context, batch=batch, max_gamma=max_gamma),
        c_hat=operations_ratio(deployment, context=context, batch=batch),
        batch=batch,
        load=Load(
            origin=f"by the roofline of {gpu if tp == 1 else f'{tp} × {gpu}'}",
            gpu=gpu,
            dtype=dtype,
            tp=tp,
            draft_kind=deployment.draft.kind,
            context=context,
            needed_gb=needed_bytes(deployment, context=context, batch=batch) / 1e9,
            fits=fits(deployment, context=context, batch=batch),
            modelled=True,
            draft_overhead=draft_overhead_share(deployment, context=context, batch=batch),
            speeds=(MEASURED_LOW, MEASURED_HIGH),
            memory_gb=deployment.hardware.memory_bytes / 1e9,
        ),
        max_gamma=deployment.draft.longest,
        multiple=deployment.draft.multiple,
        stated_gamma=deployment.draft.stated_gamma,
        draft_passes=lambda widest: draft_pass_seconds(
            deployment, context=context, batch=batch, widest=widest
        ),
        prompt_seconds=lambda tokens: prompt_seconds(deployment, tokens),
    )
