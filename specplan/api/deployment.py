"""Builds the deployment that settings describe, and its cost by the best model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from estimator.costs.deployed_cost import DeployedCost, deployed_cost
from estimator.model_shapes.drafts import read_pair
from estimator.progress import notice
from simulator.cost.fitted.runs import LoadPoint, Run
from simulator.cost.roofline.deployment import Deployment
from simulator.cost.roofline.forward import DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS
from simulator.cost.roofline.hardware import Hardware, find_hardware, own_hardware
from simulator.cost.roofline.sharing import Conditions
from specplan.api.deployed import DATA_SHEET, Deployed

# Formats of weights that servers multiply by activations of the same format.
_WITH_ACTIVATIONS = ("fp8",)


def deployment_of(options: Deployed) -> Deployment:
    """Returns both models on their machine; warns if their vocabularies differ."""
    hardware = _hardware(options)
    target, draft = read_pair(
        options.target_config or Path(),
        options.draft_config or Path(),
        dtype=options.dtype,
        draft_dtype=options.draft_dtype,
        activations=options.activations or with_weights(options, hardware),
        uncached=options.no_cache,
    )
    if draft.is_model and draft.step.vocabulary != target.vocabulary:
        notice(
            f"the vocabularies differ, {target.vocabulary} in the target and "
            f"{draft.step.vocabulary} in the draft: do both have one tokenizer?"
        )
    if draft.is_model and draft.step.active_parameters > target.active_parameters:
        notice(
            "the draft is larger than the target: are `target_config` and `draft_config` swapped?"
        )
    if options.cost_model == DATA_SHEET and (options.engine or options.draft_launch):
        name = "draft_launch" if options.engine is None else "engine"
        raise ValueError(f"`{name}` cannot be combined with `cost_model` roofline")
    overhead_us = options.layer_overhead_us
    conditions = Conditions(
        tp=options.machines[0][1],
        dp=options.dp,
        ep=options.ep,
        efficiency=DEFAULT_EFFICIENCY if options.efficiency is None else options.efficiency,
        expert_reuse=options.expert_reuse,
        layer_overhead_seconds=DEFAULT_LAYER_SECONDS if overhead_us is None else overhead_us / 1e6,
    )
    drawn = options.draft_sampling == "sampled"
    return Deployment(
        target,
        draft,
        hardware,
        conditions,
        options.draft_tp,
        sampled=drawn,
        launch=options.draft_launch,
    )


def with_weights(options: Deployed, hardware: Hardware) -> str | None:
    """Returns the format of activations that `dtype` implies; None if it implies none."""
    both = options.dtype if options.dtype in _WITH_ACTIVATIONS else None
    return both if both in hardware.peak_flops else None


def best_cost(
    options: Deployed, deployment: Deployment, loads: Sequence[LoadPoint], runs: Sequence[Run] = ()
) -> DeployedCost:
    """Returns the cost by the stated cost model, or by the first one that covers the deployment."""
    roof, layer = options.efficiency, options.layer_overhead_us
    known = {} if roof is None else {"roof": 1 / roof}
    known |= {} if layer is None else {"layer": layer / 1e6}
    return deployed_cost(
        deployment,
        loads,
        model=options.cost_model,  # type: ignore[arg-type]
        engine=options.engine,
        dtype=options.dtype,
        runs=runs,
        known=known,
    )


def _hardware(options: Deployed) -> Hardware:
    if options.gpu is not None:
        return find_hardware(options.gpu.strip())
    stated = (options.gpu_flops or 0, options.gpu_bandwidth or 0, options.gpu_memory or 0)
    return own_hardware(
        flops=1e12 * stated[0], bandwidth=1e9 * stated[1], memory_bytes=1e9 * stated[2]
    )
