"""Under which load, on which machine: costs by a GPU's roofline and the shapes of two models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.cost import duration
from specplan.options.groups import option_group
from specplan.options.pricing import Pricing
from specplan.options.ranges import integers
from specplan.options.stated import given
from specplan.reports.output import warn

if TYPE_CHECKING:
    from simulator.cost.draft_shape import DraftShape
    from simulator.cost.model_shape import ModelShape
    from simulator.cost.roofline_cost import Deployment

DEFAULT_CONTEXT = 1024


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Models, GPU and load; see each option's help."""

    target_config: Path | None
    draft_config: Path | None
    gpu: str | None
    dtype: str | None
    batch: tuple[int, ...] | None
    context: int | None
    layer_overhead_us: float | None


load_options = option_group(
    "load",
    LoadOptions,
    [
        click.option(
            "--target-config",
            type=click.Path(path_type=Path),
            help="The target's config.json, for costs by the roofline of a GPU.",
        ),
        click.option(
            "--draft-config", type=click.Path(path_type=Path), help="The draft's config.json."
        ),
        click.option(
            "--gpu", metavar="NAME", help="h100, a100, l4, ...; an unknown name lists them all."
        ),
        click.option(
            "--dtype",
            type=click.Choice(["bfloat16", "float16", "float32"]),
            help="Number format of both models.  [default: each config's own]",
        ),
        click.option(
            "--batch",
            callback=integers,
            metavar="B",
            help="Sequences together, or a list.  [default: 1]",
        ),
        click.option(
            "--context",
            type=int,
            metavar="L",
            help=f"Tokens in each sequence's cache.  [default: {DEFAULT_CONTEXT}]",
        ),
        click.option(
            "--layer-overhead-us",
            type=float,
            callback=duration,
            help="Launching a layer's kernels, microseconds; 20 to 50 without CUDA graphs.  "
            "[default: 0]",
        ),
    ],
)


def roofline_pricings(options: LoadOptions, *, max_gamma: int) -> tuple[Pricing, ...] | None:
    """Returns roofline costs for each batch size, or None if no option asks for them.

    Warns where models and caches do not fit into the GPU's memory.

    Raises:
      click.UsageError: if an option of this group lacks another that it needs.
      OSError: if a config file cannot be read.
      ValueError: if a file is no usable config.json, or an argument is out of range.
    """
    needed = {
        "--target-config": options.target_config,
        "--draft-config": options.draft_config,
        "--gpu": options.gpu,
    }
    optional = {
        "--dtype": options.dtype,
        "--batch": options.batch,
        "--context": options.context,
        "--layer-overhead-us": options.layer_overhead_us,
    }
    stated = given({**needed, **optional})
    if not stated:
        return None
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise click.UsageError(f"{stated[0]} needs {' and '.join(missing)}")
    assert options.target_config is not None
    assert options.draft_config is not None
    assert options.gpu is not None
    from simulator.cost.catalogue import find_hardware
    from simulator.cost.roofline import Conditions
    from simulator.cost.roofline_cost import Deployment, operations_ratio, roofline_cost

    hardware = find_hardware(options.gpu)
    target, draft = _models(options.target_config, options.draft_config, options.dtype)
    launch_us = options.layer_overhead_us
    overhead = 0.0 if launch_us is None else launch_us / 1e6
    deployment = Deployment(
        target,
        draft,
        hardware,
        Conditions(layer_overhead_seconds=overhead),
    )
    length = DEFAULT_CONTEXT if options.context is None else options.context
    pricings = []
    for sequences in (1,) if options.batch is None else options.batch:
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
