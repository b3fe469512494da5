"""Costs on a GPU from two models' configurations, for each batch size and context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cost.setting import DEFAULT_CONTEXT, CostSetting, Load
from specplan.options.deployment import DATA_SHEET, INSTEAD, NEEDS, Deployed, Loads
from specplan.options.kinds import CostKind
from specplan.options.runs import Runs
from specplan.reports.output import warn

if TYPE_CHECKING:
    from estimator.costs.deployed_cost import DeployedCost
    from simulator.cost.cost import Cost
    from simulator.cost.fitted.posterior import Posterior
    from simulator.cost.fitted.runs import LoadPoint, Run
    from simulator.cost.roofline.cost import RooflineCost
    from simulator.cost.roofline.deployment import Deployment
    from simulator.cost.roofline.hardware import Hardware

MOST_CELLS = 10_000
# A fitted time further than this from a run's, in logarithms, is shown.
_MISFIT = 0.05
# Formats of weights that servers multiply by activations of the same format.
_WITH_ACTIVATIONS = ("fp8",)
_BOTH = (
    "--dtype {} means weights and activations, as servers compute on this GPU (--activations "
    "bfloat16: weights only)."
)
NAME_THE_ENGINE = (
    "No server is named: the numbers cover several servers together. --engine (vllm, "
    "sglang, ...) takes your server's; its interval may be narrower or wider."
)


@dataclass(frozen=True)
class Roofline(Deployed, Loads, Runs, CostKind, order=4, needs=NEEDS, instead=INSTEAD):
    """Costs of two configured models on a GPU, corrected by runs; see each option's help."""

    def price(self, max_gamma: int) -> tuple[Cost, ...]:
        loads = list(product(self.context or (DEFAULT_CONTEXT,), self.batch or (1,)))
        gpus = [None] if self.gpu is None else self.gpu.split(",")
        if len(gpus) > 1 and (len(loads) > 1 or self.runs):
            raise click.UsageError(
                f"several GPUs need one --batch and one --context, and no --run, got {self.gpu}"
            )
        each = [replace(self, gpu=gpu) for gpu in gpus]
        return tuple(price for one in each for price in one._on_one(loads, max_gamma))

    def _on_one(self, loads: list[tuple[int, int]], max_gamma: int) -> tuple[Cost, ...]:
        """Returns the costs on one kind of GPU, one for each context and batch size.

        Measurements of kernels and servers, and the user's runs, correct the roofline, unless
        `cost_model` is the data sheet's roofline.
        """
        from simulator.cost.fitted.fit import ParametricCost
        from simulator.cost.fitted.runs import LoadPoint
        from simulator.cost.roofline.deployment import roofline_cost

        deployment = deployment_of(self)
        if len(loads) > MOST_CELLS:
            raise click.UsageError(f"a grid must have at most {MOST_CELLS} cells, got {len(loads)}")
        points = [LoadPoint(context, batch) for context, batch in loads]
        if self.cost_model == DATA_SHEET:
            if self.runs is not None:
                raise click.UsageError("--run cannot be combined with --cost-model roofline")
            return tuple(
                _placed(
                    deployment,
                    point,
                    roofline_cost(
                        deployment, context=point.context, batch=point.batch, max_gamma=max_gamma
                    ),
                    self._load(deployment, point),
                )
                for point in points
            )
        cost = best_cost(self, deployment, points, self.runs or ())
        runs = len(self.runs or ())
        known = "public measurements" + (f" and {runs} run{'s' * (runs > 1)}" if runs else "")
        unnamed = () if self.engine_family is not None or runs else (NAME_THE_ENGINE,)
        both = self.activations is None and _with_weights(self, deployment.hardware)
        formats = (_BOTH.format(both),) if both else ()
        changed: dict[str, Any] = {
            "origin": f"by {cost.source}, {known}",
            "speeds": None,
            "cost_model": cost.model,
            "notes": (*unnamed, *formats, *cost.notes, *_misfits(cost.posterior)),
        }
        if cost.model == "kernels":  # which assume no time per layer
            changed["draft_overhead"] = None
        return tuple(
            _placed(
                deployment,
                point,
                ParametricCost(cost.posterior, point),
                replace(self._load(deployment, point), **changed),
            )
            for point in points
        )

    def _load(self, deployment: Deployment, point: LoadPoint) -> Load:
        """Returns the load on one GPU, with costs by the data sheet's roofline."""
        from simulator.cost.roofline.deployment import (
            draft_overhead_share,
            most_batch,
            needed_bytes,
        )
        from simulator.cost.roofline.forward import MEASURED_HIGH, MEASURED_LOW

        hardware, gpus = deployment.hardware, deployment.conditions.gpus
        at = {"context": point.context, "batch": point.batch}
        return Load(
            origin=f"by the roofline of {f'{gpus} × ' * (gpus > 1)}{hardware.name}"
            f"{deployment.conditions.parallel}",
            gpu=hardware.name,
            dtype=self.dtype,
            activations=deployment.target.activations,
            tp=deployment.conditions.tp,
            dp=deployment.conditions.dp,
            ep=deployment.conditions.ep,
            draft_kind=deployment.draft.kind,
            context=point.context,
            needed_gb=needed_bytes(deployment, **at) / 1e9,
            draft_overhead=draft_overhead_share(deployment, **at),
            speeds=(MEASURED_LOW, MEASURED_HIGH),
            memory_gb=hardware.memory_bytes / 1e9,
            most_batch=most_batch(deployment, context=point.context),
            cost_model=DATA_SHEET,
        )


def _placed(deployment: Deployment, point: LoadPoint, times: Cost, load: Load) -> RooflineCost:
    """Returns the cost at one load, with the draft's limits; times: of its blocks."""
    from simulator.cost.roofline.cost import RooflineCost
    from simulator.cost.roofline.deployment import operations_ratio

    draft = deployment.draft
    setting = CostSetting(
        batch=point.batch,
        load=load,
        c_hat=operations_ratio(deployment, context=point.context, batch=point.batch),
        longest=draft.longest,
        multiple=draft.multiple,
        usual_gamma=draft.stated_gamma,
        draft_share=draft.step.active_parameters / deployment.target.active_parameters,
    )
    return RooflineCost(times, setting=setting, deployment=deployment, point=point)


def _misfits(posterior: Posterior) -> list[str]:
    """Returns warnings about runs that differ from the fit, or gain more than their length."""
    from simulator.cost.fitted.machine import seconds_of

    notes = []
    for run in posterior.runs:
        work = posterior.machine.token_work(run.load, run.gamma, run.length)
        measured, fitted = run.seconds_per_token, float(seconds_of(work, posterior.logs))
        if abs(math.log(fitted / measured)) > max(_MISFIT, 2 * run.error):
            notes.append(
                f"The fit does not believe the run of gamma {run.gamma}, batch {run.load.batch}: "
                f"{1e3 * measured:.3g} ms a token were measured, {1e3 * fitted:.3g} ms fitted "
                f"({100 * (fitted / measured - 1):+.0f} %). Was it of these models, and of one "
                "load?"
            )
    return notes + [
        f"The run at gamma {run.gamma}, batch {run.load.batch} gains more than its {run.length:g} "
        "tokens a block: is its length, or the run without drafts, of other traffic?"
        for run in posterior.impossible
    ]


def deployment_of(options: Deployed) -> Deployment:
    """Returns both models on their machine; warns if their vocabularies differ."""
    from estimator.model_shapes.drafts import read_pair
    from simulator.cost.roofline.deployment import Deployment
    from simulator.cost.roofline.forward import DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS
    from simulator.cost.roofline.sharing import Conditions

    hardware = _hardware(options)
    target, draft = read_pair(
        options.target_config or Path(),
        options.draft_config or Path(),
        dtype=options.dtype,
        draft_dtype=options.draft_dtype,
        activations=options.activations or _with_weights(options, hardware),
        uncached=options.no_cache,
    )
    if draft.is_model and draft.step.vocabulary != target.vocabulary:
        warn(
            f"the vocabularies differ, {target.vocabulary} in the target and "
            f"{draft.step.vocabulary} in the draft: do both have one tokenizer?"
        )
    if draft.is_model and draft.step.active_parameters > target.active_parameters:
        warn("the draft is larger than the target: are --target-config and --draft-config swapped?")
    if options.cost_model == DATA_SHEET and options.engine_family is not None:
        raise click.UsageError("--engine cannot be combined with --cost-model roofline")
    overhead_us = options.layer_overhead_us
    conditions = Conditions(
        tp=options.tp,
        dp=options.dp,
        ep=options.ep,
        efficiency=DEFAULT_EFFICIENCY if options.efficiency is None else options.efficiency,
        expert_reuse=options.expert_reuse,
        layer_overhead_seconds=DEFAULT_LAYER_SECONDS if overhead_us is None else overhead_us / 1e6,
    )
    return Deployment(target, draft, hardware, conditions, draft_tp=options.draft_tp)


def _with_weights(options: Deployed, hardware: Hardware) -> str | None:
    """Returns the format of activations that --dtype implies; None if it implies none."""
    both = options.dtype if options.dtype in _WITH_ACTIVATIONS else None
    return both if both in hardware.peak_flops else None


def best_cost(
    options: Deployed, deployment: Deployment, loads: Sequence[LoadPoint], runs: Sequence[Run] = ()
) -> DeployedCost:
    """Returns the cost by the stated cost model, or by the first one that covers the deployment."""
    from estimator.costs.deployed_cost import deployed_cost

    roof, layer = options.efficiency, options.layer_overhead_us
    known = {} if roof is None else {"roof": 1 / roof}
    known |= {} if layer is None else {"layer": layer / 1e6}
    return deployed_cost(
        deployment,
        loads,
        model=options.cost_model,  # type: ignore[arg-type]
        engine=options.engine_family,
        dtype=options.dtype,
        runs=runs,
        known=known,
    )


def _hardware(options: Deployed) -> Hardware:
    from simulator.cost.roofline.hardware import find_hardware, own_hardware

    if options.gpu is not None:
        return find_hardware(options.gpu.strip())
    own = (options.gpu_flops or 0, options.gpu_bandwidth or 0, options.gpu_memory or 0)
    return own_hardware(flops=1e12 * own[0], bandwidth=1e9 * own[1], memory_bytes=1e9 * own[2])
