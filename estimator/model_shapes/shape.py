"""The shape of a model from its config.json: sizes, weights and caches in their formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from estimator.model_shapes.caches import count_caches, layer_caches
from estimator.model_shapes.meta_pass import architecture, without_storage
from estimator.model_shapes.storage import Storage, storage
from estimator.model_shapes.weights import CountedWeights, count_weights, last_layer
from simulator.cost.roofline.number_formats import NumberFormat
from simulator.cost.roofline.shapes import CacheLayers, ModelShape, WeightKind, Weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel


Part = Literal["whole", "last layer"]
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")


@dataclass(frozen=True, slots=True)
class Counted:
    """A model's sizes, weights and caches; sizes and name as in ModelShape.

    caches: with 2 bytes per key or value.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    weights: tuple[CountedWeights, ...]
    caches: tuple[CacheLayers, ...]

    def caches_of(self, bytes_per_value: int) -> tuple[CacheLayers, ...]:
        """Returns the caches with a given number of bytes per key or value."""
        return tuple(
            replace(each, bytes_per_token=each.bytes_per_token * bytes_per_value / 2)
            for each in self.caches
        )


# From a configuration, patterns of unquantised modules, and the part of the model to count.
Count = Callable[[Mapping[str, Any], tuple[str, ...], Part], Counted]


def count(config: Mapping[str, Any], kept: tuple[str, ...] = (), part: Part = "whole") -> Counted:
    """Returns the counts of the model that transformers builds on torch's meta device.

    kept: regular expressions for names of modules that quantisation leaves plain.
    part: "whole", or only the weights and caches of the last decoder layer.
    """
    # The storage format of weights changes no module.
    text, model, cache, uses = _built(json.dumps(without_storage(config), default=dict))
    if part == "whole":
        caches = count_caches(cache, text)
        weights = count_weights(model, text, kept, uses=uses)
    else:
        caches = layer_caches(cache, text)[-1]
        weights = count_weights(model, text, kept, within=last_layer(model))
    return Counted(
        name=type(model).__name__,
        layers=_size(text, _LAYERS),
        hidden=_size(text, ("hidden_size", "n_embd", "d_model")),
        # Sizes that vary over layers are taken from the last one.
        heads=_size(
            text.per_layer_config[-1], ("num_attention_heads", "n_head", "n_heads"), default=1
        ),
        vocabulary=_size(text, ("vocab_size",)),
        weights=weights,
        caches=caches,
    )


@lru_cache(maxsize=8)
def _built(config: str) -> tuple[Any, PreTrainedModel, Any, Mapping[str, int]]:
    """Returns the text's configuration, its model, and a pass; config is JSON text."""
    from estimator.model_shapes.meta_pass import build, decoder_config, meta_pass

    parsed = json.loads(config)
    decoder = decoder_config(parsed)
    model = build(decoder, kind=parsed["model_type"])
    # For a family whose class takes the whole configuration: the text's sizes.
    text = decoder.get_text_config(decoder=True)
    _size(text, _LAYERS)  # gives a clear error for a model without layers
    return text, model, *meta_pass(model)


def _size(config: Any, names: tuple[str, ...], *, default: int | None = None) -> int:
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    if default is not None:
        return default
    raise ValueError(f"{config.model_type} must have a {names[0]}, got none")


def shape_of(
    config: Mapping[str, Any],
    *,
    dtype: str | None = None,
    activations: str | None = None,
    count: Count = count,
) -> ModelShape:
    """Returns the shape of the causal language model that a configuration describes.

    transformers' own class is built on torch's meta device, which takes seconds and no memory. So
    the counted model is the model that would be loaded, and its caches come from a pass there.

    Args:
      config: the parsed config.json; for a multimodal model only the text part counts.
      dtype: number format of the weights (a name in `number_formats.FORMATS`); None: the
        configuration's own, including its quantization_config.
      activations: number format of activations; None: 16 bits, or the configuration's.
      count: `count`, or a function with cached counts (estimator.model_shapes.kept_counts).
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
        caches=counted.caches_of(round(stored.plain.bytes_per_value)),
        activations=stored.activations,
    )


def stored_weights(counted: tuple[CountedWeights, ...], stored: Storage) -> tuple[Weights, ...]:
    """Returns the weights in their storage formats; weights stored alike are added up."""
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
