"""Counts the model of a config.json: built on the meta device, where it runs one pass."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Literal

from estimator.model_shapes.alike_layers import AlikeLayers
from estimator.model_shapes.weights_and_caches import (
    count_weights,
    first_size,
    last_layer,
    layer_caches,
)
from estimator.model_shapes.weights_by_kind import CountedWeights
from estimator.progress import stage
from simulator.cost.roofline.shapes import CacheLayers

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

Part = Literal["whole", "last layer"]
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
# Number of tokens in the pass.
TOKENS = 4


@dataclass(frozen=True, slots=True)
class Counted:
    """A model's sizes, weights and caches, before number formats are chosen.

    caches: counted as if each key or value took BYTES_PER_VALUE bytes.
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
    """Returns the counts of the model that transformers builds, or of its last decoder layer.

    kept: regular expressions for the names of modules that are not quantised.
    """
    # The storage format of weights changes no module.
    text, model, caches, uses = _built(json.dumps(without_storage(config), default=dict))
    if part == "whole":
        alike = Counter(chain.from_iterable(caches))
        read = tuple(replace(cache, layers=layers) for cache, layers in alike.items())
        weights = count_weights(model, text, kept, uses=uses)
    else:
        read = caches[-1]
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
        caches=read,
    )


@lru_cache(maxsize=8)
def _built(
    config: str,
) -> tuple[Any, PreTrainedModel, list[tuple[CacheLayers, ...]], Mapping[str, int]]:
    """Builds the model of a config.json, given as text.

    Returns the model's configuration, its module, its caches by layer, and the number of uses of
    each matrix (see `meta_pass`).
    """
    parsed = json.loads(config)
    with stage(f"counting the weights of a {parsed['model_type']} model of your config.json"):
        decoder = decoder_config(parsed)
        model = build(decoder, model_type=parsed["model_type"])
        # Some families' classes take the whole configuration.
        text = decoder.get_text_config(decoder=True)
        _size(text, *_LAYERS)  # gives a clear error for a model without layers
        cache, uses = meta_pass(model)
        return text, model, layer_caches(cache, text), uses


def _size(config: Any, *names: str, default: int | None = None) -> int:
    size = first_size(getattr(config, name, None) for name in names) or default
    if size is None:
        raise ValueError(f"{config.model_type} must have a {names[0]}, got none")
    return size


def architecture(config: Mapping[str, Any]) -> str:
    """Returns the model_type of a configuration; refuses a configuration without one."""
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise ValueError("config.json must name its architecture, got no model_type")
    return model_type


def decoder_config(config: Mapping[str, Any]) -> PreTrainedConfig:
    """Returns the configuration of a causal language model, or a multimodal model's text part."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL

    model_type = architecture(config)
    if model_type not in CONFIG_MAPPING:
        raise ValueError(f"model_type must be one that transformers knows, got {model_type}")
    if config.get("is_encoder_decoder") is True:
        raise ValueError(
            f"config.json must describe a decoder, got {model_type}, an encoder–decoder"
        )
    try:
        whole = CONFIG_MAPPING[model_type].from_dict(without_storage(config))
        text = whole.get_text_config(decoder=True)
    except Exception as error:
        raise ValueError(f"transformers refuses this {model_type}: {_one_line(error)}") from None
    if text.model_type in CAUSAL:
        return text
    if model_type in CAUSAL:
        return whole
    raise ValueError(f"config.json must describe a causal language model, got {model_type}")


def without_storage(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the configuration without its quantisation, which does not affect the counts."""
    return {name: value for name, value in config.items() if name != "quantization_config"}


def build(config: PreTrainedConfig, *, model_type: str) -> PreTrainedModel:
    """Returns the model on torch's meta device, where tensors have shapes and no values."""
    import torch
    from transformers import AutoModelForCausalLM

    try:
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    except Exception as error:
        raise ValueError(
            f"transformers cannot build this {model_type}: {_one_line(error)}"
        ) from None


def _one_line(error: Exception) -> str:
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= 200 else words[:200] + "…"


def meta_pass(model: PreTrainedModel) -> tuple[Any, Mapping[str, int]]:
    """Returns the cache after a pass over a few tokens, and how often the pass used each matrix.

    The cache's tensors have shapes and no values. Uses are counted by the matrix's name, over all
    modules that share the matrix. A matrix whose module was not called has no entry. Layers that
    are alike are computed once where that is possible.
    """
    import torch
    from torch import nn
    from torch.nn.modules.module import register_module_forward_hook

    name = type(model).__name__
    ids = torch.ones(1, TOKENS, dtype=torch.long, device="meta")
    # transformers would search ids without values for padding. Some configurations check values on
    # assignment and do not accept None.
    vars(model.config)["pad_token_id"] = None
    uses: Counter[int] = Counter()

    def use(module: nn.Module, *_: Any) -> None:
        # Looking up an embedding is no use. The output matrix may be the embedding matrix.
        if not isinstance(module, nn.Embedding):
            uses.update(
                id(parameter)
                for parameter in module.parameters(recurse=False)
                if parameter.dim() >= 2
            )

    text = model.config.get_text_config(decoder=True)
    alike = AlikeLayers(model, getattr(text, "layer_types", None))
    # Some models make tensors without a device, others compute with plain numbers.
    devices: tuple[AbstractContextManager[Any], ...] = (torch.device("meta"), nullcontext())
    failed: list[Exception] = []
    for once, device in product([True, False] if alike.first else [False], devices):
        uses.clear()
        layers = alike.once() if once else nullcontext()
        try:
            with torch.no_grad(), device, register_module_forward_hook(use), layers:
                output = model(input_ids=ids, use_cache=True)
            cache = getattr(output, "past_key_values", None)
            if cache is None:
                cache = getattr(output, "cache_params", None)
            if once:
                alike.copy_uses(uses)
                alike.copy_caches(getattr(cache, "layers", []))
            break
        except Exception as error:
            failed.append(error)
    else:
        why = _one_line(failed[-len(devices)])
        raise ValueError(f"the cache of {name} cannot be counted without weights: {why}")
    if type(cache).__name__ != "DynamicCache":
        given = "no cache" if cache is None else type(cache).__name__
        raise ValueError(f"{name} must be a decoder with a cache of known layers, got {given}")
    return cache, {
        n: uses[id(parameter)] for n, parameter in model.named_parameters() if id(parameter) in uses
    }
