"""Options that state both models, their machine and their load."""

import click

from specplan.api.deployed import DATA_SHEET, Deployed, Loads, OwnGpu
from specplan.options.declared import declare, option, rare
from specplan.options.values import (
    EngineName,
    FormatName,
    contexts,
    duration,
    integer_ranges,
    listing,
)

_FORMATS = (
    "bfloat16", "float16", "float32", "fp8", "int8", "int4", "mxfp4", "nvfp4", "q8_0", "q4_0",
)  # fmt: skip
# Fields of `Deployed` that must be stated, and fields that replace one of them.
NEEDS = ("target_config", "draft_config", "gpu")
WANTS = {
    "draft_config": "the config.json of the draft model, or of the head (EAGLE-3, DFlash, ...)"
}
INSTEAD = {"gpu": ("gpu_flops", "gpu_bandwidth", "gpu_memory")}


def _gpus() -> list[str]:
    from simulator.cost.roofline.hardware import ALIASES, CATALOGUE

    return sorted([*CATALOGUE, *ALIASES])


declare(
    OwnGpu,
    gpu_flops=rare(metavar="T"),
    gpu_bandwidth=rare(metavar="GB/S"),
    gpu_memory=rare(metavar="GB"),
)
declare(
    Deployed,
    engine=option("--engine", type=EngineName()),
    cost_model=rare(type=click.Choice(("kernels", "public", DATA_SHEET))),
    gpu=option(metavar="NAME", callback=listing(_gpus)),
    tp=option(metavar="N"),
    dp=option(metavar="N"),
    ep=option(metavar="N"),
    draft_tp=rare(metavar="N"),
    dtype=rare(type=FormatName(_FORMATS)),
    draft_dtype=rare(type=FormatName(_FORMATS)),
    activations=rare(type=FormatName(("bfloat16", "float16", "fp8", "int8", "fp4"))),
    expert_reuse=rare(metavar="R"),
    efficiency=rare(metavar="E"),
    layer_overhead_us=rare(callback=duration),
    no_cache=rare(),
)
declare(
    Loads,
    batch=option(callback=integer_ranges, metavar="B"),
    context=option(callback=contexts, metavar="L"),
)
