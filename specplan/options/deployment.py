"""Under which load, on which machine: the options that say so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from specplan.options.cost import duration
from specplan.options.groups import option_group
from specplan.options.ranges import integer_ranges

DEFAULT_CONTEXT = 1024
_FORMATS = (
    "bfloat16", "float16", "float32", "fp8", "int8", "int4", "mxfp4", "nvfp4", "q8_0", "q4_0",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeploymentOptions:
    """Models and machine; see each option's help."""

    target_config: Path | None
    draft_config: Path | None
    gpu: str | None
    gpu_flops: float | None
    gpu_bandwidth: float | None
    gpu_memory: float | None
    tp: int | None
    draft_tp: int | None
    dtype: str | None
    draft_dtype: str | None
    activations: str | None
    expert_reuse: float | None
    efficiency: float | None
    layer_overhead_us: float | None


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How many sequences, and how long; see each option's help."""

    batch: tuple[int, ...] | None
    context: tuple[int, ...] | None


deployment_options = option_group(
    "deployment",
    DeploymentOptions,
    [
        click.option(
            "--target-config",
            type=click.Path(path_type=Path),
            help="The target's config.json, for costs by the roofline of a GPU.",
        ),
        click.option(
            "--draft-config",
            type=click.Path(path_type=Path),
            help="The draft's: a model, or a head (EAGLE-3, P-EAGLE, DFlash, Medusa); the target's "
            "own again for its multi-token prediction.",
        ),
        click.option(
            "--gpu", metavar="NAME", help="h100, b200, l4, ...; an unknown name lists them all."
        ),
        click.option(
            "--gpu-flops", type=float, metavar="T", help="16-bit teraFLOP/s, in place of --gpu."
        ),
        click.option("--gpu-bandwidth", type=float, metavar="GB/S", help="Likewise, of memory."),
        click.option("--gpu-memory", type=float, metavar="GB", help="Likewise, its size."),
        click.option(
            "--tp", type=int, metavar="N", help="GPUs that share each layer.  [default: 1]"
        ),
        click.option(
            "--draft-tp", type=int, metavar="N", help="GPUs that share the draft.  [default: --tp]"
        ),
        click.option(
            "--dtype",
            type=click.Choice(_FORMATS),
            help="Number format of both models' weights.  [default: each config's own]",
        ),
        click.option(
            "--draft-dtype", type=click.Choice(_FORMATS), help="The draft's.  [default: --dtype]"
        ),
        click.option(
            "--activations",
            type=click.Choice(["bfloat16", "float16", "fp8", "int8", "fp4"]),
            help="Format of activations.  [default: 16 bits, or the config's]",
        ),
        click.option(
            "--expert-reuse",
            type=float,
            metavar="R",
            help="How far tokens share experts: 0 uniform routing, 1 all the same.  [default: 0]",
        ),
        click.option(
            "--efficiency",
            type=float,
            metavar="E",
            help="Share of the roofs that kernels reach.  [default: 0.9, fitted]",
        ),
        click.option(
            "--layer-overhead-us",
            type=float,
            callback=duration,
            help="What each layer takes besides, microseconds.  [default: 92, fitted]",
        ),
    ],
)
load_options = option_group(
    "load",
    LoadOptions,
    [
        click.option(
            "--batch",
            callback=integer_ranges,
            metavar="B",
            help="Sequences together: 8, a list, or a range 1:256:1.  [default: 1]",
        ),
        click.option(
            "--context",
            callback=integer_ranges,
            metavar="L",
            help="Tokens in each sequence's cache, or a list or range.  "
            f"[default: {DEFAULT_CONTEXT}]",
        ),
    ],
)
