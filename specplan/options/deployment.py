"""Options that state both models, their machine and their load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engines.kind import engine_kinds
from simulator.cost.pricing import DEFAULT_CONTEXT
from specplan.options.declared import option, rare
from specplan.options.help import listing
from specplan.options.ranges import duration, integer_ranges
from specplan.reports.output import warn

if TYPE_CHECKING:
    from estimator.deployed_cost import DeployedCost
    from simulator.cost.fitted.machine import LoadPoint
    from simulator.cost.fitted.runs import Run
    from simulator.cost.roofline.deployment import Deployment
    from simulator.cost.roofline.hardware import Hardware

_FORMATS = (
    "bfloat16", "float16", "float32", "fp8", "int8", "int4", "mxfp4", "nvfp4", "q8_0", "q4_0",
)  # fmt: skip
# The cost model of the GPU's data sheet, which no server corrects.
DATA_SHEET = "roofline"
# Fields of `Deployed` that must be stated, and fields that replace one of them.
NEEDS = ("target_config", "draft_config", "gpu")
INSTEAD = {"gpu": ("gpu_flops", "gpu_bandwidth", "gpu_memory")}


def _gpus() -> list[str]:
    from simulator.cost.roofline.hardware import ALIASES, CATALOGUE

    return sorted([*CATALOGUE, *ALIASES])


@dataclass(frozen=True)
class OwnGpu:
    """A GPU that the catalogue lacks, from three options that are given together or not at all.

    See each option's help.
    """

    gpu_flops: float | None = rare(metavar="T", help="16-bit teraFLOP/s, in place of --gpu.")
    gpu_bandwidth: float | None = rare(metavar="GB/S", help="GPU memory bandwidth.")
    gpu_memory: float | None = rare(metavar="GB", help="Memory size of the GPU.")


@dataclass(frozen=True)
class Deployed(OwnGpu):
    """Both models and their machine; see each option's help."""

    engine_family: str | None = option(
        "--engine",
        type=click.Choice(tuple(engine_kinds())),
        help="The server, with --target-config. Its times outside the models are taken from "
        "public measurements.  [default: any]",
    )
    cost_model: str | None = rare(
        type=click.Choice(("kernels", "public", DATA_SHEET)),
        help="With --target-config: kernels (latencies that NVIDIA measured, extra kernels), "
        "public (the roofline), both corrected by public measurements of servers, or roofline "
        "(the GPU's data sheet, no server).  [default: the first that covers the GPU]",
    )
    target_config: Path | None = option(help="The target's config.json. For costs on a --gpu.")
    draft_config: Path | None = option(
        help="The draft's config.json. A model's, or a head's: EAGLE, Medusa, DFlash and kin, the "
        "speculators format, too; the target's own again for its multi-token prediction."
    )
    gpu: str | None = option(
        metavar="NAME",
        callback=listing(_gpus),
        help="h100, b200, l4, ..., or list. Several in plan, as h100,h200,l40s: a row for each.",
    )
    tp: int = option(default=1, metavar="N", help="GPUs that share each layer.")
    draft_tp: int | None = rare(metavar="N", help="GPUs that share the draft.  [default: --tp]")
    dtype: str | None = rare(
        type=click.Choice(_FORMATS),
        help="Number format of both models' weights.  [default: each config's own]",
    )
    draft_dtype: str | None = rare(
        type=click.Choice(_FORMATS),
        help="Number format of the draft's weights.  [default: --dtype]",
    )
    activations: str | None = rare(
        type=click.Choice(["bfloat16", "float16", "fp8", "int8", "fp4"]),
        help="Format of activations.  [default: 16 bits, or the config's]",
    )
    expert_reuse: float = rare(
        default=0.0,
        metavar="R",
        help="How far tokens share experts: 0 uniform routing, 1 all the same.",
    )
    efficiency: float | None = rare(
        metavar="E", help="Share of the roofs that kernels reach.  [default: 0.9, fitted]"
    )
    layer_overhead_us: float | None = rare(
        callback=duration, help="Fixed time of each layer, microseconds.  [default: 92, fitted]"
    )
    no_cache: bool = rare(
        default=False, help="Count both configs' models again, and save no count."
    )


@dataclass(frozen=True)
class Loads:
    """Batch sizes and contexts; see each option's help."""

    batch: tuple[int, ...] | None = option(
        callback=integer_ranges,
        metavar="B",
        help="Sequences together: 8, 1,8 or 1:256:1.  [default: 1]",
    )
    context: tuple[int, ...] | None = option(
        callback=integer_ranges,
        metavar="L",
        help=f"Tokens in each cache, or several.  [default: {DEFAULT_CONTEXT}]",
    )


def deployment_of(options: Deployed) -> Deployment:
    """Returns both models on their machine; warns if their vocabularies differ."""
    from estimator.model_shapes.drafts import read_pair
    from simulator.cost.roofline.deployment import Deployment
    from simulator.cost.roofline.forward import (
        DEFAULT_EFFICIENCY,
        DEFAULT_LAYER_SECONDS,
        Conditions,
    )

    assert options.target_config is not None
    assert options.draft_config is not None
    target, draft = read_pair(
        options.target_config,
        options.draft_config,
        dtype=options.dtype,
        draft_dtype=options.draft_dtype,
        activations=options.activations,
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
        efficiency=DEFAULT_EFFICIENCY if options.efficiency is None else options.efficiency,
        expert_reuse=options.expert_reuse,
        layer_overhead_seconds=DEFAULT_LAYER_SECONDS if overhead_us is None else overhead_us / 1e6,
    )
    return Deployment(target, draft, _hardware(options), conditions, draft_tp=options.draft_tp)


def best_cost(
    options: Deployed,
    deployment: Deployment,
    loads: Sequence[LoadPoint],
    runs: Sequence[Run] = (),
) -> DeployedCost:
    """Returns the cost by the stated cost model, else by the best that covers the deployment."""
    from estimator.deployed_cost import deployed_cost

    known = {}
    if options.efficiency is not None:
        known["roof"] = 1 / options.efficiency
    if options.layer_overhead_us is not None:
        known["layer"] = options.layer_overhead_us / 1e6
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
    if options.gpu is not None:
        from simulator.cost.roofline.hardware import find_hardware

        return find_hardware(options.gpu)
    from simulator.cost.roofline.hardware import own_hardware

    flops, bandwidth, memory = options.gpu_flops, options.gpu_bandwidth, options.gpu_memory
    assert flops is not None
    assert bandwidth is not None
    assert memory is not None
    return own_hardware(flops=1e12 * flops, bandwidth=1e9 * bandwidth, memory_bytes=1e9 * memory)
