"""The shape of a model by its config.json: what is counted of it, in the formats of its storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.shapes.counted import Count, CountedWeights, count
from estimator.shapes.meta_pass import architecture
from estimator.shapes.storage import Storage, storage
from simulator.cost.model_shape import ModelShape, WeightKind, Weights
from simulator.cost.number_formats import NumberFormat


def shape_of(
    config: Mapping[str, Any],
    *,
    dtype: str | None = None,
    activations: str | None = None,
    count: Count = count,
) -> ModelShape:
    """Returns the shape of the causal language model that a configuration describes.

    transformers' own class is built on torch's meta device, which takes seconds and no memory, so
    what is counted is what would be loaded; its caches are those of one pass there.

    Args:
      config: the parsed config.json; of a model of more than text, the text part counts.
      dtype: number format of the weights (a name of simulator.cost.number_formats.FORMATS);
        without it, the configuration's own, its quantization_config included.
      activations: number format of activations; without it, 16 bits or the configuration's.
      count: counts anew, or looks up what was counted (estimator.shapes.kept_counts).
    """
    architecture(config)
    stored = storage(config, dtype=dtype, activations=activations)
    counted = count(config, stored.kept, "whole")
    return ModelShape(
        name=counted.name,
        layers=counted.layers,
        hidden=counted.hidden,
        heads=counted.heads,
        vocabulary=counted.vocabulary,
        weights=stored_weights(counted.weights, stored),
        caches=counted.caches_of(4 if stored.plain.name == "float32" else 2),
        activations=stored.activations,
    )


def stored_weights(counted: tuple[CountedWeights, ...], stored: Storage) -> tuple[Weights, ...]:
    """Returns the weights in the formats that they are stored in, those stored alike together."""
    totals: dict[tuple[WeightKind, NumberFormat, int, int, bool], int] = {}
    for each in counted:
        quantised = each.quantised or stored.quantised.everywhere
        form = stored.quantised if quantised else stored.plain
        key = (each.kind, form, each.experts, each.active, each.held)
        totals[key] = totals.get(key, 0) + each.values
    return tuple(
        Weights(
            kind=kind,
            values=values,
            stored_bytes=values * form.bytes_per_value,
            computed_in=form.product_format(stored.activations),
            experts=experts,
            active=active,
            held=held,
        )
        for (kind, form, experts, active, held), values in totals.items()
    )
