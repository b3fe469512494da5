"""Options that state both models, their machine and their load."""

from dataclasses import dataclass
from pathlib import Path

import click

from simulator.cost.setting import DEFAULT_CONTEXT
from specplan.options.command import option, rare
from specplan.options.values import EngineName, FormatName, duration, integer_ranges, listing

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

    gpu_flops: 16-bit teraFLOP/s, in place of --gpu.
    gpu_bandwidth: GPU memory bandwidth.
    gpu_memory: Memory size of the GPU.
    """

    gpu_flops: float | None = rare(metavar="T")
    gpu_bandwidth: float | None = rare(metavar="GB/S")
    gpu_memory: float | None = rare(metavar="GB")


@dataclass(frozen=True)
class Deployed(OwnGpu):
    """Both models and their machine.

    engine_family: The server, with --target-config. Public measurements of it give its times
      outside the models.  [default: any]
    cost_model: With --target-config: kernels (latencies that NVIDIA measured),
      public (the roofline), both corrected by public measurements of servers, or roofline (the
      GPU's data sheet, no server).  [default: the first that covers the GPU]
    target_config: The target's config.json. It is needed for costs on a --gpu.
    draft_config: The draft's config.json. It is of a model, of a head (EAGLE, Medusa, DFlash, ...)
      or in the speculators format. For multi-token prediction, state the target's config again.
    gpu: h100, 4070, rtx 4060 laptop, ..., or list. With plan, several GPUs (h100,h200,l40s) give a
      row each.
    tp: GPUs that share each layer.
    dp: Replicas of all layers but experts, of --tp GPUs each; --batch is of all of them together.
    ep: Parts into which a mixture's experts are divided as wholes; --tp times --dp GPUs hold them.
    draft_tp: GPUs that share the draft.  [default: --tp]
    dtype: Number format of both models' weights.  [default: each config's own]
    draft_dtype: Number format of the draft's weights.  [default: --dtype]
    activations: Format of activations.  [default: fp8 with --dtype fp8 on GPUs that multiply it,
      else the config's, or 16 bits]
    expert_reuse: How far tokens share experts, from 0 (uniform routing) to 1 (all use the same).
    efficiency: Share of the GPU's peak rates that kernels reach.  [default: 0.9, fitted]
    layer_overhead_us: Fixed time of each layer, microseconds.  [default: 92, fitted]
    no_cache: Count both models' parameters again, and do not save the result.
    """

    engine_family: str | None = option("--engine", type=EngineName())
    cost_model: str | None = rare(type=click.Choice(("kernels", "public", DATA_SHEET)))
    target_config: Path | None = option()
    draft_config: Path | None = option()
    gpu: str | None = option(metavar="NAME", callback=listing(_gpus))
    tp: int = option(default=1, metavar="N")
    dp: int = option(default=1, metavar="N")
    ep: int = option(default=1, metavar="N")
    draft_tp: int | None = rare(metavar="N")
    dtype: str | None = rare(type=FormatName(_FORMATS))
    draft_dtype: str | None = rare(type=FormatName(_FORMATS))
    activations: str | None = rare(type=FormatName(("bfloat16", "float16", "fp8", "int8", "fp4")))
    expert_reuse: float = rare(default=0.0, metavar="R")
    efficiency: float | None = rare(metavar="E")
    layer_overhead_us: float | None = rare(callback=duration)
    no_cache: bool = rare(default=False)


@dataclass(frozen=True)
class Loads:
    """Batch sizes and contexts.

    batch: Sequences decoded together: 8, 1,8 or 1:256:1.  [default: 1]
    """

    batch: tuple[int, ...] | None = option(callback=integer_ranges, metavar="B")
    context: tuple[int, ...] | None = option(
        callback=integer_ranges,
        metavar="L",
        help=f"Tokens in each cache, or several.  [default: {DEFAULT_CONTEXT}]",
    )
