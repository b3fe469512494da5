"""The shape of a model from its config.json: sizes, weights and caches in their formats."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from estimator.model_shapes.meta_pass import (
    BYTES_PER_VALUE,
    architecture,
    build,
    decoder_config,
    layer_caches,
    meta_pass,
    without_storage,
)
from estimator.model_shapes.storage import storage
from estimator.model_shapes.weights import (
    CountedWeights,
    count_weights,
    first_size,
    last_layer,
    stored_weights,
)
from simulator.cost.roofline.shapes import CacheLayers, ModelShape

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Part = Literal["whole", "last layer"]
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")


@dataclass(frozen=True, slots=True)
class Counted:
    """A model's sizes, weights and caches; sizes and name as in ModelShape.

    caches: with BYTES_PER_VALUE per key or value.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    weights: tuple[CountedWeights, ...]
    caches: tuple[CacheLayers, ...]


# From a configuration, patterns of unquantised modules, and the part of the model to count.
Count = Callable[[Mapping[str, Any], tuple[str, ...], Part], Counted]


def count(config: Mapping[str, Any], kept: tuple[str, ...] = (), part: Part = "whole") -> Counted:
    """Returns the counts of the model that transformers builds on torch's meta device.

    kept: regular expressions for names of modules that quantisation leaves plain.
    part: "whole", or only the weights and caches of the last decoder layer.
    """
    # The storage format of weights changes no module.
    text, model, caches, uses = _built(json.dumps(without_storage(config), default=dict))
    if part == "whole":
        alike = Counter(chain.from_iterable(caches))
        found = tuple(replace(each, layers=layers) for each, layers in alike.items())
        weights = count_weights(model, text, kept, uses=uses)
    else:
        found = caches[-1]
        weights = count_weights(model, text, kept, within=last_layer(model))
    return Counted(
        name=type(model).__name__,
        layers=_size(text, *_LAYERS),
        hidden=_size(text, "hidden_size", "n_embd", "d_model"),
        # Sizes that vary over layers are taken from the last one.
        heads=_size(
            text.per_layer_config[-1], "num_attention_heads", "n_head", "n_heads", default=1
        ),
        vocabulary=_size(text, "vocab_size"),
        weights=weights,
        caches=found,
    )


@lru_cache(maxsize=8)
def _built(
    config: str,
) -> tuple[Any, PreTrainedModel, list[tuple[CacheLayers, ...]], Mapping[str, int]]:
    """Returns the text's configuration, its model, and a pass; config is JSON text."""
    parsed = json.loads(config)
    decoder = decoder_config(parsed)
    model = build(decoder, kind=parsed["model_type"])
    # For a family whose class takes the whole configuration: the text's sizes.
    text = decoder.get_text_config(decoder=True)
    _size(text, *_LAYERS)  # gives a clear error for a model without layers
    cache, uses = meta_pass(model)
    return text, model, layer_caches(cache, text), uses


def _size(config: Any, *names: str, default: int | None = None) -> int:
    size = first_size(getattr(config, name, None) for name in names) or default
    if size is None:
        raise ValueError(f"{config.model_type} must have a {names[0]}, got none")
    return size


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
      dtype: number format of the weights (a name in `FORMATS`); None:
        the configuration's own, including its quantization_config.
      activations: number format of activations; None: 16 bits, or the configuration's.
      count: `count`, or a function with cached counts (estimator.model_shapes.kept_counts).
    """
    architecture(config)
    stored = storage(config, dtype=dtype, activations=activations)
    counted = count(config, stored.kept, "whole")
    wider = round(stored.plain.bytes_per_value) / BYTES_PER_VALUE
    return ModelShape(
        name=counted.name,
        layers=counted.layers,
        hidden=counted.hidden,
        heads=counted.heads,
        vocabulary=counted.vocabulary,
        weights=stored_weights(counted.weights, stored),
        caches=tuple(
            replace(each, bytes_per_token=each.bytes_per_token * wider) for each in counted.caches
        ),
        activations=stored.activations,
    )
