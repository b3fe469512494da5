"""Builds the decoder of a config.json on the meta device, and reads the caches of a pass there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from simulator.cost.roofline.shapes import CacheKind, CacheLayers

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedConfig, PreTrainedModel

# Bytes of one cached key or value; states of linear layers have their own size.
BYTES_PER_VALUE = 2
# Number of tokens in the pass.
TOKENS = 4


def architecture(config: Mapping[str, Any]) -> str:
    """Returns the name of a model's architecture."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or not kind:
        raise ValueError("config.json must name its architecture, got no model_type")
    return kind


def decoder_config(config: Mapping[str, Any]) -> PreTrainedConfig:
    """Returns the configuration of the causal language model; of several parts, the text part."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL

    kind = architecture(config)
    if kind not in CONFIG_MAPPING:
        raise ValueError(f"model_type must be one that transformers knows, got {kind}")
    if config.get("is_encoder_decoder") is True:
        raise ValueError(f"config.json must describe a decoder, got {kind}, an encoder–decoder")
    try:
        whole = CONFIG_MAPPING[kind].from_dict(without_storage(config))
        text = whole.get_text_config(decoder=True)
    except Exception as error:
        raise ValueError(f"transformers refuses this {kind}: {_one_line(error)}") from None
    if text.model_type in CAUSAL:
        return text
    if kind in CAUSAL:
        return whole
    raise ValueError(f"config.json must describe a causal language model, got {kind}")


def without_storage(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the configuration without quantisation, which changes no module (see `storage`)."""
    return {name: value for name, value in config.items() if name != "quantization_config"}


def build(config: PreTrainedConfig, *, kind: str) -> PreTrainedModel:
    """Returns the model on the meta device: modules and sizes without numbers."""
    import torch
    from transformers import AutoModelForCausalLM

    try:
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    except Exception as error:
        raise ValueError(f"transformers cannot build this {kind}: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= 200 else words[:200] + "…"


def meta_pass(model: PreTrainedModel) -> tuple[Any, Mapping[str, int]]:
    """Returns the cache after a pass over a few tokens, and the uses of matrices in the pass.

    The cache holds tensors without numbers. Uses are counted by the matrix' name, over all modules
    that share it; a matrix whose module was not called is missing.
    """
    import torch

    name = type(model).__name__
    ids = torch.ones(1, TOKENS, dtype=torch.long, device="meta")
    # transformers would search ids without values for padding. Some configurations check values on
    # assignment and do not accept None.
    vars(model.config)["pad_token_id"] = None
    failed: list[Exception] = []
    # Some models make tensors without a device, others compute with plain numbers.
    devices: tuple[AbstractContextManager[Any], ...] = (torch.device("meta"), nullcontext())
    for device in devices:
        try:
            with torch.no_grad(), device, _counted(model) as uses:
                output = model(input_ids=ids, use_cache=True)
            break
        except Exception as error:
            failed.append(error)
    else:
        why = _one_line(failed[0])
        raise ValueError(f"the cache of {name} cannot be counted without weights: {why}")
    cache = getattr(output, "past_key_values", None)
    if cache is None:
        cache = getattr(output, "cache_params", None)
    if type(cache).__name__ != "DynamicCache":
        found = "no cache" if cache is None else type(cache).__name__
        raise ValueError(f"{name} must be a decoder with a cache of known layers, got {found}")
    return cache, {n: uses[id(each)] for n, each in model.named_parameters() if id(each) in uses}


@contextmanager
def _counted(model: nn.Module) -> Iterator[dict[int, int]]:
    """Counts by identity how often matrices are used, over all modules that hold them.

    Looking up an embedding does not count; an output matrix may be the embedding, too.
    """
    from torch import nn

    uses: dict[int, int] = {}

    def count(module: nn.Module, *_: Any) -> None:
        for each in module.parameters(recurse=False):
            if each.dim() >= 2:
                uses[id(each)] = uses.get(id(each), 0) + 1

    users = (module for module in model.modules() if not isinstance(module, nn.Embedding))
    hooks = [module.register_forward_hook(count) for module in users]
    try:
        yield uses
    finally:
        for hook in hooks:
            hook.remove()


def layer_caches(cache: Any, config: PreTrainedConfig) -> list[tuple[CacheLayers, ...]]:
    """Returns the caches of each layer; refuses a pass without caches, or with an unknown kind."""
    each_layer: list[tuple[CacheLayers, ...]] = []
    latest: dict[str, CacheLayers] = {}
    kinds = chain(getattr(config, "layer_types", None) or (), repeat(""))
    for layer, kind, sizes in zip(cache.layers, kinds, config.per_layer_config, strict=False):
        name = type(layer).__name__
        if type(layer).__module__ != "transformers.cache_utils":
            raise ValueError(
                f"the caches of {config.model_type} are of a kind that is not covered, {name}"
            )
        keys, found = getattr(layer, "keys", None), list[CacheLayers]()
        if keys is not None and keys.dim() == 4:
            found = _attention(layer, kind, sizes)
            latest[kind] = found[0]
        elif name == "DummyLayer" and kind in latest:
            found = [replace(latest[kind], held=False)]
        each_layer.append((*found, *_state(layer, sizes)))
    if not any(each_layer):
        raise ValueError(f"{config.model_type} must cache keys and values or a state, got neither")
    return each_layer


def _attention(layer: Any, kind: str, config: PreTrainedConfig) -> list[CacheLayers]:
    _, shards, _, key_width = layer.keys.shape
    value_width = layer.values.shape[-1]
    heads = int(getattr(config, "num_attention_heads", shards))
    window = getattr(layer, "sliding_window", None)
    latent = getattr(config, "kv_lora_rank", None) == key_width and shards == 1
    # Scores with the keys, then a sum of the values; latent pairs serve as both.
    products = 2 * key_width + value_width if latent else key_width + value_width
    found: CacheKind = "latent" if latent else "full"
    if window is not None:
        found = "chunked" if kind == "chunked_attention" else "sliding"
    token_bytes = float(shards * (key_width + value_width) * BYTES_PER_VALUE)
    main = CacheLayers(found, 1, token_bytes, 0.0, window, float(2 * heads * products), shards)
    if not hasattr(layer, "indexer_keys"):
        return [main]
    top, index = getattr(config, "index_topk", None), layer.indexer_keys
    if index is None:
        return [main if top is None else replace(main, kind="indexed", window=top)]
    width = index.shape[-1]
    operations = float(2 * int(getattr(config, "index_n_heads", 1)) * width)
    scan = CacheLayers("full", 1, float(width * BYTES_PER_VALUE), 0.0, None, operations, 1)
    return [replace(main, kind="indexed", window=top), scan]


def _state(layer: Any, config: PreTrainedConfig) -> list[CacheLayers]:
    """Returns the state of a recurrent layer for one sequence; empty for other layers."""
    named = (getattr(layer, name, {}) for name in ("conv_states", "recurrent_states"))
    states = [state for each in named for state in each.values() if state is not None]
    if not states:
        return []
    state_bytes = float(sum(state.numel() * state.element_size() for state in states))
    # For each token each value is decayed, added to and read once.
    operations = float(4 * sum(state.numel() for state in states))
    shards = int(getattr(config, "num_attention_heads", 1))
    return [CacheLayers("linear", 1, 0.0, state_bytes, None, operations, shards)]
