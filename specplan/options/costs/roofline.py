"""Costs on a GPU from two models' configurations, for each batch size and context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from simulator.cost.pricing import DEFAULT_CONTEXT, Load, Pricing
from specplan.options.deployment import (
    DATA_SHEET,
    INSTEAD,
    NEEDS,
    Deployed,
    Loads,
    best_cost,
    deployment_of,
)
from specplan.options.kinds import Background, CostKind
from specplan.options.runs import Runs

if TYPE_CHECKING:
    from simulator.cost.fitted.posterior import Posterior
    from simulator.cost.fitted.runs import Run
    from simulator.cost.roofline.deployment import Deployment

MOST_CELLS = 10_000
# A fitted time further than this from a run's, in logarithms, is shown.
_MISFIT = 0.05
NAME_THE_ENGINE = (
    "No server is named: the numbers cover several servers together. --engine (vllm, "
    "sglang, ...) takes your server's; its interval may be narrower or wider."
)


@dataclass(frozen=True)
class Roofline(Deployed, Loads, Runs, CostKind):
    """Models, machine, loads, engine, runs and cost model; see each option's help."""

    order = 4
    needs = NEEDS
    instead = INSTEAD

    def price(self, background: Background) -> tuple[Pricing, ...]:
        batches = (1,) if self.batch is None else self.batch
        contexts = (DEFAULT_CONTEXT,) if self.context is None else self.context
        names = [None] if self.gpu is None else [name.strip() for name in self.gpu.split(",")]
        if len(names) > 1 and (len(batches) > 1 or len(contexts) > 1 or self.runs):
            raise click.UsageError(
                f"several GPUs need one --batch and one --context, and no --run, got {self.gpu}"
            )
        parts = [replace(self, gpu=name)._on_one(background, batches, contexts) for name in names]
        return tuple(each for part in parts for each in part)

    def _on_one(
        self, background: Background, batches: Sequence[int], contexts: Sequence[int]
    ) -> tuple[Pricing, ...]:
        """Returns the pricings on one kind of GPU, one for each batch size and context."""
        deployment = deployment_of(self)
        cells = len(batches) * len(contexts)
        if cells > MOST_CELLS:
            raise click.UsageError(f"a grid must have at most {MOST_CELLS} cells, got {cells}")
        found = tuple(
            _priced(deployment, self.dtype, batch, context, background.max_gamma)
            for context, batch in product(contexts, batches)
        )
        if self.cost_model != DATA_SHEET:
            return self._in_doubt(deployment, found)
        if self.runs is not None:
            raise click.UsageError("--run cannot be combined with --cost-model roofline")
        return found

    def _in_doubt(self, deployment: Deployment, priced: tuple[Pricing, ...]) -> tuple[Pricing, ...]:
        """Returns the pricings corrected by kernels, public measurements and runs."""
        from simulator.cost.fitted.machine import LoadPoint

        loads = [each.load for each in priced if each.load is not None]
        points = [
            LoadPoint(load.context, each.batch) for load, each in zip(loads, priced, strict=True)
        ]
        cost = best_cost(self, deployment, points, self.runs or ())
        runs = len(self.runs or ())
        known = "public measurements" + (f" and {runs} run{'s' * (runs > 1)}" if runs else "")
        unnamed = () if self.engine_family is not None or runs else (NAME_THE_ENGINE,)
        changed: dict[str, Any] = {
            "origin": f"by {cost.source}, {known}",
            "speeds": None,
            "cost_model": cost.model,
            "notes": (*unnamed, *cost.notes, *_misfits(cost.posterior), *_beyond(cost.posterior)),
        }
        if cost.model == "kernels":  # which assume no time per layer
            changed["draft_overhead"] = None
        return tuple(
            replace(each, load=replace(load, **changed)).in_doubt(cost.posterior, point)
            for each, load, point in zip(priced, loads, points, strict=True)
        )


def _fitted(posterior: Posterior, run: Run) -> float:
    from simulator.cost.fitted.machine import seconds_of

    work = posterior.machine.token_work(run.load, run.drafting, run.length)
    return float(seconds_of(work, posterior.logs))


def _misfits(posterior: Posterior) -> tuple[str, ...]:
    """Returns a warning for each run that the fit misses by more than its error."""
    return tuple(
        f"The fit does not believe the run of gamma {run.gamma}, batch {run.load.batch}: "
        f"{1e3 * run.seconds_per_token:.3g} ms a token were measured, {1e3 * fitted:.3g} ms fitted "
        f"({100 * (fitted / run.seconds_per_token - 1):+.0f} %). Was it of these models, and of "
        "one load?"
        for run in posterior.runs
        for fitted in [_fitted(posterior, run)]
        if abs(math.log(fitted / run.seconds_per_token)) > max(_MISFIT, 2 * run.error)
    )


def _beyond(posterior: Posterior) -> tuple[str, ...]:
    """Returns warnings about runs with a speed-up above their tokens per block."""
    return tuple(
        f"The run at gamma {run.gamma}, batch {run.load.batch} gains more than its {run.length:g} "
        "tokens a block: is its length, or the run without drafts, of other traffic?"
        for run in posterior.impossible
    )


def _priced(
    deployment: Deployment, dtype: str | None, batch: int, context: int, max_gamma: int
) -> Pricing:
    from simulator.cost.roofline.deployment import (
        draft_overhead_share,
        draft_pass_seconds,
        most_batch,
        needed_bytes,
        operations_ratio,
        prompt_seconds,
        roofline_cost,
    )
    from simulator.cost.roofline.forward import MEASURED_HIGH, MEASURED_LOW

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
            draft_overhead=draft_overhead_share(deployment, context=context, batch=batch),
            speeds=(MEASURED_LOW, MEASURED_HIGH),
            memory_gb=deployment.hardware.memory_bytes / 1e9,
            most_batch=most_batch(deployment, context=context),
            cost_model=DATA_SHEET,
        ),
        max_gamma=deployment.draft.longest,
        multiple=deployment.draft.multiple,
        stated_gamma=deployment.draft.stated_gamma,
        draft_passes=lambda widest: draft_pass_seconds(
            deployment, context=context, batch=batch, widest=widest
        ),
        prompt_seconds=lambda tokens: prompt_seconds(deployment, tokens),
        draft_share=deployment.draft.step.active_parameters / deployment.target.active_parameters,
    )
