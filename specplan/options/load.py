"""Under which load, on which machine: costs by a GPU's roofline and the shapes of two models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.cost import duration
from specplan.options.groups import option_group
from specplan.options.ranges import integer_ranges
from specplan.options.stated import given
from specplan.reports.output import warn
from specplan.reports.pricing import Load, Pricing

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.cost.draft_shape import DraftShape
    from simulator.cost.hardware import Hardware
    from simulator.cost.model_shape import ModelShape
    from simulator.cost.roofline_cost import Deployment

DEFAULT_CONTEXT = 1024
MOST_CELLS = 10_000
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


def roofline_pricings(
    options: DeploymentOptions, load: LoadOptions, *, max_gamma: int
) -> tuple[Pricing, ...] | None:
    """Returns roofline costs for each batch size and context, or None if no option asks for them.

    Raises:
      click.UsageError: if an option of this group lacks another that it needs, or the grid is too
        large.
      OSError: if a config file cannot be read.
      ValueError: if a file is no usable config.json, or an argument is out of range.
    """
    stated = given({"--batch": load.batch, "--context": load.context})
    deployment = deployment_of(options, also=stated)
    if deployment is None:
        return None
    batches = (1,) if load.batch is None else load.batch
    contexts = (DEFAULT_CONTEXT,) if load.context is None else load.context
    cells = len(batches) * len(contexts)
    if cells > MOST_CELLS:
        raise click.UsageError(f"a grid must have at most {MOST_CELLS} cells, got {cells}")
    return tuple(
        _priced(deployment, options, batch=batch, context=context, max_gamma=max_gamma)
        for context in contexts
        for batch in batches
    )


def measured_pricings(
    options: DeploymentOptions, load: LoadOptions, profile: Profile | None, *, also: list[str]
) -> tuple[Pricing, ...] | None:
    """Returns a profile's costs at each batch size asked for; None where none or no profile is.

    Args:
      options: that ask for a roofline in place of what was measured.
      load: the batch sizes, and the context where one of several is meant.
      profile: the file that is planned from, if one is.
      also: options given that say a cost.

    Raises:
      click.UsageError: if a cost is given, too.
      ValueError: if the profile was not measured so.
    """
    if profile is None or load.batch is None or options.target_config is not None:
        return None
    if also:
        raise click.UsageError(f"--batch of a profile cannot be combined with {also[0]}")
    measured = {(costs.context, costs.batch): costs for costs in profile.load}
    if not measured:
        raise ValueError(
            "profile must hold costs by batch ('specplan measure --batch'), or --target-config, "
            "--draft-config and --gpu be given, got neither"
        )
    contexts = dict.fromkeys(context for context, _ in measured)
    wanted = [(c, b) for c in (load.context or tuple(contexts)) for b in load.batch]
    for context, batch in wanted:
        if (context, batch) not in measured:
            known = ", ".join(f"{b} at context {c}" for c, b in measured)
            raise ValueError(
                f"batch must be one that the profile was measured at ({known}), got {batch} at "
                f"context {context}"
            )
    return tuple(
        Pricing(
            cost=profile.cost_of(measured[cell]),
            c_hat=profile.c_hat,
            batch=cell[1],
            load=Load(
                gpu=profile.setup.device or "its machine",
                dtype=profile.setup.dtype,
                tp=1,
                draft_kind="model",
                context=cell[0],
                needed_gb=None,
                fits=True,
                measured=True,
            ),
        )
        for cell in wanted
    )


def deployment_of(options: DeploymentOptions, *, also: list[str]) -> Deployment | None:
    """Returns both models on their machine, or None if no option asks for them.

    Warns where the models' vocabularies differ.

    Args:
      options: as the user gave them.
      also: further options given that need a deployment.

    Raises:
      click.UsageError, OSError, ValueError: as roofline_pricings.
    """
    machine = {
        "--gpu-flops": options.gpu_flops,
        "--gpu-bandwidth": options.gpu_bandwidth,
        "--gpu-memory": options.gpu_memory,
    }
    own = given(machine)
    needed = {
        "--target-config": options.target_config,
        "--draft-config": options.draft_config,
        **(machine if own and options.gpu is None else {"--gpu": options.gpu}),
    }
    optional = {
        "--tp": options.tp,
        "--draft-tp": options.draft_tp,
        "--dtype": options.dtype,
        "--draft-dtype": options.draft_dtype,
        "--activations": options.activations,
        "--expert-reuse": options.expert_reuse,
        "--efficiency": options.efficiency,
        "--layer-overhead-us": options.layer_overhead_us,
    }
    stated = given(needed) + given(optional) + also
    if not stated:
        return None
    if own and options.gpu is not None:
        raise click.UsageError(f"--gpu cannot be combined with {own[0]}")
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise click.UsageError(f"{stated[0]} needs {' and '.join(missing)}")
    from simulator.cost.efficiency import DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS
    from simulator.cost.roofline import Conditions
    from simulator.cost.roofline_cost import Deployment

    target, draft = _models(options)
    if draft.kind == "model" and draft.step.vocabulary != target.vocabulary:
        warn(
            f"the vocabularies differ, {target.vocabulary} in the target and "
            f"{draft.step.vocabulary} in the draft: do both have one tokenizer?"
        )
    launch_us = options.layer_overhead_us
    return Deployment(
        target,
        draft,
        _hardware(options),
        Conditions(
            tp=1 if options.tp is None else options.tp,
            efficiency=DEFAULT_EFFICIENCY if options.efficiency is None else options.efficiency,
            expert_reuse=0.0 if options.expert_reuse is None else options.expert_reuse,
            layer_overhead_seconds=(
                DEFAULT_LAYER_SECONDS if launch_us is None else launch_us / 1e6
            ),
        ),
        draft_tp=options.draft_tp,
    )


def _hardware(options: DeploymentOptions) -> Hardware:
    if options.gpu is not None:
        from simulator.cost.catalogue import find_hardware

        return find_hardware(options.gpu)
    from simulator.cost.hardware import own_hardware

    assert options.gpu_flops is not None
    assert options.gpu_bandwidth is not None
    assert options.gpu_memory is not None
    return own_hardware(
        flops=1e12 * options.gpu_flops,
        bandwidth=1e9 * options.gpu_bandwidth,
        memory_bytes=1e9 * options.gpu_memory,
    )


def _priced(
    deployment: Deployment, options: DeploymentOptions, *, batch: int, context: int, max_gamma: int
) -> Pricing:
    from simulator.cost.roofline_cost import fits, needed_bytes, operations_ratio, roofline_cost

    return Pricing(
        cost=roofline_cost(deployment, context=context, batch=batch, max_gamma=max_gamma),
        c_hat=operations_ratio(deployment, context=context, batch=batch),
        batch=batch,
        load=Load(
            gpu=deployment.hardware.name,
            dtype=options.dtype,
            tp=deployment.conditions.tp,
            draft_kind=deployment.draft.kind,
            context=context,
            needed_gb=needed_bytes(deployment, context=context, batch=batch) / 1e9,
            fits=fits(deployment, context=context, batch=batch),
        ),
        max_gamma=deployment.draft.longest,
    )


def _models(options: DeploymentOptions) -> tuple[ModelShape, DraftShape]:
    from estimator.shapes.configuration import read_config
    from estimator.shapes.drafts import draft_of
    from estimator.shapes.shape import shape_of

    target_file, draft_file = options.target_config, options.draft_config
    assert target_file is not None
    assert draft_file is not None
    target_config, draft_config = read_config(target_file), read_config(draft_file)
    draft_dtype = options.dtype if options.draft_dtype is None else options.draft_dtype
    try:
        target = shape_of(target_config, dtype=options.dtype, activations=options.activations)
    except ValueError as error:
        raise ValueError(f"{target_file}: {error}") from None
    try:
        draft = draft_of(
            draft_config,
            target=target_config,
            target_shape=target,
            dtype=draft_dtype,
            activations=options.activations,
        )
    except ValueError as error:
        raise ValueError(f"{draft_file}: {error}") from None
    return target, draft
