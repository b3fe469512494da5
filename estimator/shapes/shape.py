"""The shape of a model by its config.json: built without numbers, and counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from simulator.cost.model_shape import ModelShape

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from estimator.shapes.meta_pass import MetaPass


def shape_of(
    config: Mapping[str, Any], *, dtype: str | None = None, activations: str | None = None
) -> ModelShape:
    """Returns the shape of the causal language model that a configuration describes.

    transformers' own class is built on torch's meta device, which takes seconds and no memory, so
    what is counted is what would be loaded; its caches are those of one pass there.

    Args:
      config: the parsed config.json; of a model of more than text, the text part counts.
      dtype: number format of the weights (a name of simulator.cost.number_formats.FORMATS);
        without it, the configuration's own, its quantization_config included.
      activations: number format of activations; without it, 16 bits or the configuration's.

    Raises:
      ValueError: if the configuration cannot be built or counted; the message names it.
    """
    from estimator.shapes.caches import count_caches
    from estimator.shapes.storage import storage
    from estimator.shapes.weights import count_weights

    stored = storage(config, dtype=dtype, activations=activations)
    # How weights are stored changes no module.
    plain = {name: value for name, value in config.items() if name != "quantization_config"}
    text, model, passed = _built(json.dumps(plain, default=dict))
    layers = _size(text, _LAYERS)
    caches = count_caches(
        passed.cache, text, bytes_per_value=4 if stored.plain.name == "float32" else 2
    )
    return ModelShape(
        name=type(model).__name__,
        layers=layers,
        hidden=_size(text, ("hidden_size", "n_embd", "d_model")),
        # What varies over the layers is asked of the last of them.
        heads=_size(
            text.per_layer_config[-1], ("num_attention_heads", "n_head", "n_heads"), default=1
        ),
        vocabulary=_size(text, ("vocab_size",)),
        weights=count_weights(model, text, stored, uses=passed.uses),
        caches=caches,
        activations=stored.activations,
    )


_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")


@lru_cache(maxsize=8)
def _built(config: str) -> tuple[Any, PreTrainedModel, MetaPass]:
    """Returns the text's configuration, its model and a pass of it; the JSON is of a file."""
    from estimator.shapes.configuration import build, decoder_config
    from estimator.shapes.meta_pass import meta_pass

    parsed = json.loads(config)
    decoder = decoder_config(parsed)
    model = build(decoder, kind=parsed["model_type"])
    # Of a family whose class takes the whole configuration, the text's sizes.
    text = decoder.get_text_config(decoder=True)
    _size(text, _LAYERS)   # a pass of a model without layers fails in other words
    return text, model, meta_pass(model)


def _size(config: Any, names: tuple[str, ...], *, default: int | None = None) -> int:
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    if default is not None:
        return default
    raise ValueError(f"{config.model_type} must have a {names[0]}, got none")
