"""Reads the weights and the caches of a model of transformers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from estimator.model_shapes.weights_by_kind import CountedWeights, Parameters, by_kind
from simulator.cost.roofline.shapes import CacheKind, CacheLayers, WeightKind

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedConfig, PreTrainedModel

# Bytes of one cached key or value; states of linear layers have their own size.
BYTES_PER_VALUE = 2
# Names of the number of experts per token in configurations; the first that is set counts.
_ACTIVE = (
    "num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "moe_k",
    "top_k_experts", "top_k", "moe_num_active_experts", "num_selected_experts", "experts_per_token",
)  # fmt: skip
# Parts of the names of modules that mix tokens; all other matrices are feed-forward.
_MIXING = (
    "attn", "attention", "mixer", "mamba", "conv", "ssm", "indexer", "recurrent", "temporal",
    "delta", "retention", "q_proj", "k_proj", "v_proj", "o_proj",
)  # fmt: skip


def count_weights(
    model: PreTrainedModel,
    config: PreTrainedConfig,
    kept: tuple[str, ...] = (),
    *,
    within: str = "",
    uses: Mapping[str, int] = MappingProxyType({}),
) -> tuple[CountedWeights, ...]:
    """Returns the weights of a model of transformers by kind; arguments: see `by_kind`."""
    return by_kind(
        _sorted(model), config.hidden_size, kept, within=within, uses=uses,
        active=lambda experts: _active(config, experts),
    )  # fmt: skip


def last_layer(model: PreTrainedModel) -> str:
    """Returns the common prefix of the names of the last decoder layer's weights."""
    from torch import nn

    lists = [(name, m) for name, m in model.named_modules() if isinstance(m, nn.ModuleList)]
    name, layers = max(lists, key=lambda item: sum(p.numel() for p in item[1].parameters()))
    return f"{name}.{len(layers) - 1}."


def _sorted(model: PreTrainedModel) -> Parameters:
    from torch import nn

    head: Any = model.get_output_embeddings()
    head_weight = None if head is None else getattr(head, "weight", None)
    lookups = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    modules = dict(model.named_modules())
    for name, parameter in model.named_parameters():
        parts = name.split(".")
        experts = _experts(parts, parameter, modules)
        kind: WeightKind
        if parameter is head_weight:
            kind = "head"
        elif id(parameter) in lookups:
            kind = "embedding"
        elif experts:
            kind = "experts"
        elif parameter.dim() < 2:
            kind = "other"
        elif any(word in part.lower() for part in parts for word in _MIXING):
            kind = "attention"
        else:
            kind = "feed-forward"
        yield kind, name, tuple(parameter.shape), experts


def _experts(parts: list[str], parameter: Tensor, modules: dict[str, nn.Module]) -> int:
    """Returns the number of routed experts in a parameter's layer; 0 if it belongs to no expert."""
    owner = modules[".".join(parts[:-1])]
    routed = "Experts" in type(owner).__name__
    for i, part in enumerate(parts[:-1]):
        if part.lower() in ("experts", "moe_experts") and "shared" not in ".".join(parts[:i]):
            owner, routed = modules[".".join(parts[: i + 1])], True
            if parts[i + 1].isdecimal():
                return sum(child.isdecimal() for child, _ in owner.named_children())
            break
    # The experts' weights are stacked in one tensor.
    names = ("num_experts", "moe_num_experts", "num_local_experts")
    stacked = parameter.shape[0] if parameter.dim() >= 2 else 0
    return (first_size(getattr(owner, name, None) for name in names) or stacked) if routed else 0


def _active(config: PreTrainedConfig, experts: int) -> int:
    stated = (getattr(config, name, None) for name in _ACTIVE)
    active = first_size(
        max(stated_size) if isinstance(stated_size, (list, tuple)) else stated_size
        for stated_size in stated
    )
    if active is not None:
        return min(active, experts)
    nested = getattr(config, "ffn_config", None)
    if nested is not None:
        return _active(nested, experts)
    raise ValueError(
        f"config.json must say how many of {experts} experts a token is sent to "
        f"({_ACTIVE[0]} or the like), got no such field"
    )


def first_size(values: Iterable[Any]) -> int | None:
    """Returns the first positive integer."""
    sizes = (value for value in values if isinstance(value, int) and not isinstance(value, bool))
    return next((size for size in sizes if size > 0), None)


def layer_caches(cache: Any, config: PreTrainedConfig) -> list[tuple[CacheLayers, ...]]:
    """Returns the caches of each layer; refuses models without caches or with an unknown cache."""
    each_layer: list[tuple[CacheLayers, ...]] = []
    latest: dict[str, CacheLayers] = {}
    kinds = chain(getattr(config, "layer_types", None) or (), repeat(""))
    for layer, attention, sizes in zip(cache.layers, kinds, config.per_layer_config, strict=False):
        name = type(layer).__name__
        if type(layer).__module__ != "transformers.cache_utils":
            raise ValueError(
                f"the caches of {config.model_type} are of a kind that is not covered, {name}"
            )
        keys, caches = getattr(layer, "keys", None), list[CacheLayers]()
        if keys is not None and keys.dim() == 4:
            caches = _attention(layer, attention, sizes)
            latest[attention] = caches[0]
        elif name == "DummyLayer" and attention in latest:
            caches = [replace(latest[attention], held=False)]
        each_layer.append((*caches, *_state(layer, sizes)))
    if not any(each_layer):
        raise ValueError(f"{config.model_type} must cache keys and values or a state, got neither")
    return each_layer


def _attention(layer: Any, attention: str, config: PreTrainedConfig) -> list[CacheLayers]:
    _, shards, _, key_width = layer.keys.shape
    value_width = layer.values.shape[-1]
    heads = int(getattr(config, "num_attention_heads", shards))
    window = getattr(layer, "sliding_window", None)
    latent = getattr(config, "kv_lora_rank", None) == key_width and shards == 1
    # Scores with the keys, then a sum of the values; latent pairs serve as both.
    products = 2 * key_width + value_width if latent else key_width + value_width
    cache_kind: CacheKind = "latent" if latent else "full"
    if window is not None:
        cache_kind = "chunked" if attention == "chunked_attention" else "sliding"
    token_bytes = float(shards * (key_width + value_width) * BYTES_PER_VALUE)
    main = CacheLayers(cache_kind, 1, token_bytes, 0.0, window, float(2 * heads * products), shards)
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
    """Returns the size of a recurrent layer's state per sequence; [] for other layers."""
    named = (getattr(layer, name, {}) for name in ("conv_states", "recurrent_states"))
    states = [
        state for states_by_name in named for state in states_by_name.values() if state is not None
    ]
    if not states:
        return []
    state_bytes = float(sum(state.numel() * state.element_size() for state in states))
    # For each token each value is decayed, added to and read once.
    operations = float(4 * sum(state.numel() for state in states))
    shards = int(getattr(config, "num_attention_heads", 1))
    return [CacheLayers("linear", 1, 0.0, state_bytes, None, operations, shards)]
