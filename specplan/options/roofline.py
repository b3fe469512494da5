"""Costs by a GPU's roofline and the shapes of two models, as options state them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from specplan.options.deployment import DEFAULT_CONTEXT, DeploymentOptions, LoadOptions
from specplan.options.stated import given
from specplan.reports.output import warn
from specplan.reports.pricing import Load, Pricing

if TYPE_CHECKING:
    from simulator.cost.draft_shape import DraftShape
    from simulator.cost.hardware import Hardware
    from simulator.cost.model_shape import ModelShape
    from simulator.cost.roofline_cost import Deployment

MOST_CELLS = 10_000


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
    from simulator.cost.roofline_cost import (
        draft_overhead_share,
        fits,
        needed_bytes,
        operations_ratio,
        roofline_cost,
    )

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
            draft_overhead=draft_overhead_share(deployment, context=context, batch=batch),
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
