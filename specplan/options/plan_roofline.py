"""Costs of `specplan plan` from what a GPU can do and the shape of two models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.plan_inputs import Pricing
from specplan.reports.output import warn

if TYPE_CHECKING:
    from simulator.cost.draft_shape import DraftShape
    from simulator.cost.model_shape import ModelShape
    from simulator.cost.roofline_cost import Deployment

DEFAULT_CONTEXT = 1024


def roofline_pricings(
    *,
    target_config: Path | None,
    draft_config: Path | None,
    gpu: str | None,
    dtype: str | None,
    batch: tuple[int, ...] | None,
    context: int | None,
    layer_overhead_us: float | None,
    max_gamma: int,
) -> tuple[Pricing, ...] | None:
    """Returns roofline costs for each batch size, or None if no option asks for them.

    Warns where models and caches do not fit into the GPU's memory.

    Raises:
      click.UsageError: if an option of this group lacks another that it needs.
      OSError: if a config file cannot be read.
      ValueError: if a file is no usable config.json, or an argument is out of range.
    """
    needed = {"--target-config": target_config, "--draft-config": draft_config, "--gpu": gpu}
    optional = {
        "--dtype": dtype,
        "--batch": batch,
        "--context": context,
        "--layer-overhead-us": layer_overhead_us,
    }
    given = [name for name, value in {**needed, **optional}.items() if value is not None]
    if not given:
        return None
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise click.UsageError(f"{given[0]} needs {' and '.join(missing)}")
    assert target_config is not None
    assert draft_config is not None
    assert gpu is not None
    from simulator.cost.catalogue import find_hardware
    from simulator.cost.roofline import Conditions
    from simulator.cost.roofline_cost import Deployment, operations_ratio, roofline_cost

    hardware = find_hardware(gpu)
    target, draft = _models(target_config, draft_config, dtype)
    deployment = Deployment(
        target,
        draft,
        hardware,
        Conditions(
            layer_overhead_seconds=0.0 if layer_overhead_us is None else layer_overhead_us / 1e6
        ),
    )
    length = DEFAULT_CONTEXT if context is None else context
    pricings = []
    for sequences in (1,) if batch is None else batch:
        costs = roofline_cost(deployment, context=length, batch=sequences, max_gamma=max_gamma)
        c_hat = operations_ratio(deployment, context=length, batch=sequences)
        pricings.append(Pricing(cost=costs, c_hat=c_hat, batch=sequences))
        _warn_of_memory(deployment, context=length, batch=sequences)
    return tuple(pricings)


def _models(
    target_file: Path, draft_file: Path, dtype: str | None
) -> tuple[ModelShape, DraftShape]:
    from estimator.shapes.configuration import read_config
    from estimator.shapes.drafts import draft_of
    from estimator.shapes.shape import shape_of

    target_config, draft_config = read_config(target_file), read_config(draft_file)
    try:
        target = shape_of(target_config, dtype=dtype)
    except ValueError as error:
        raise ValueError(f"{target_file}: {error}") from None
    try:
        draft = draft_of(draft_config, target=target_config, target_shape=target, dtype=dtype)
    except ValueError as error:
        raise ValueError(f"{draft_file}: {error}") from None
    return target, draft


def _warn_of_memory(deployment: Deployment, *, context: int, batch: int) -> None:
    from simulator.cost.roofline_cost import needed_bytes

    needed = needed_bytes(deployment, context=context, batch=batch)
    hardware = deployment.hardware
    if needed > hardware.memory_bytes:
        warn(
            f"batch {batch} at context {context} needs {needed / 1e9:.0f} GB of weights and "
            f"caches, {hardware.name} has {hardware.memory_bytes / 1e9:.0f} GB"
        )
