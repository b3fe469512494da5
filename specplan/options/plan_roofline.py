"""Costs of `specplan plan` from what a GPU can do and the shape of two models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specplan.options.plan_inputs import Pricing
from specplan.reports.output import warn

if TYPE_CHECKING:
    from simulator.cost.hardware import Hardware
    from simulator.cost.model_shape import ModelShape

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
    from simulator.cost.hardware import find_hardware
    from simulator.cost.roofline import forward_flops, roofline_cost

    hardware = find_hardware(gpu)
    target = _shape(target_config, dtype)
    draft = _shape(draft_config, dtype)
    length = DEFAULT_CONTEXT if context is None else context
    overhead = 0.0 if layer_overhead_us is None else layer_overhead_us / 1e6
    pricings = []
    for sequences in (1,) if batch is None else batch:
        costs = roofline_cost(
            target,
            draft,
            hardware,
            context=length,
            batch=sequences,
            max_gamma=max_gamma,
            layer_overhead_seconds=overhead,
        )
        flops = [
            float(forward_flops(shape, new_tokens=1, context=length, batch=sequences))
            for shape in (draft, target)
        ]
        pricings.append(Pricing(cost=costs, c_hat=flops[0] / flops[1], batch=sequences))
        _warn_of_memory(target, draft, hardware, context=length, batch=sequences)
    return tuple(pricings)


def _shape(path: Path, dtype: str | None) -> ModelShape:
    from simulator.cost.model_shape import ModelShape

    file = path / "config.json" if path.is_dir() else path
    try:
        config: Any = json.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file} must be JSON, got: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{file} must hold a JSON object, got a {type(config).__name__}")
    try:
        return ModelShape.from_config(config, dtype=dtype)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _warn_of_memory(
    target: ModelShape, draft: ModelShape, hardware: Hardware, *, context: int, batch: int
) -> None:
    from simulator.cost.roofline import memory_bytes

    needed = sum(
        float(memory_bytes(shape, context=context, batch=batch)) for shape in (target, draft)
    )
    if needed > hardware.memory_bytes:
        warn(
            f"batch {batch} at context {context} needs {needed / 1e9:.0f} GB of weights and "
            f"caches, {hardware.name} has {hardware.memory_bytes / 1e9:.0f} GB"
        )
