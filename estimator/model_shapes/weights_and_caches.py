"""Counts the weights of a model by kind (looked up, always multiplied, experts), and its caches."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, repeat
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from simulator.cost.roofline.matrices import ROUTERS, Matrix, joined
from simulator.cost.roofline.shapes import CacheKind, CacheLayers, WeightKind

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedConfig, PreTrainedModel

# Kinds of weights that quantisation may change.
LINEAR: tuple[WeightKind, ...] = ("attention", "feed-forward", "experts")
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


@dataclass(frozen=True, slots=True)
class CountedWeights:
    """The weights of one kind (attention, experts, …) before their number format is chosen.

    kind, values, experts, active, inner, held, matrices: see
      simulator.cost.roofline.shapes.Weights.
    quantised: whether these weights are quantised if the model is stored quantised.
    """

    kind: WeightKind
    values: int
    quantised: bool = False
    experts: int = 0
    active: int = 0
    inner: int = 0
    held: bool = True
    matrices: tuple[Matrix, ...] = ()


def count_weights(
    model: PreTrainedModel,
    config: PreTrainedConfig,
    kept: tuple[str, ...] = (),
    *,
    within: str = "",
    uses: Mapping[str, int] = MappingProxyType({}),
) -> tuple[CountedWeights, ...]:
    """Returns the model's weights by kind. A tied output matrix is counted once, as kind "head".

    kept: regular expressions for the names of modules that are not quantised.
    within: prefix of the names of the weights to count.
    uses: uses of each matrix in a pass, by name (see `meta_pass`); names not listed: 1. A matrix
      that is used n times is counted n times, and `held` is true for only one of the n counts.
    """
    totals: Counter[CountedWeights] = Counter()
    # Values of the experts' matrices; gate and up may be one matrix, down is one by itself.
    sizes: dict[CountedWeights, list[int]] = {}
    sides: defaultdict[CountedWeights, dict[str, list[tuple[str, int, int]]]] = defaultdict(dict)
    for kind, name, parameter, experts in _sorted(model):
        if name.startswith(within):
            quantised = _quantised(kind, name, parameter, kept)
            active = _active(config, experts) if experts else 0
            alike = CountedWeights(kind, 0, quantised, experts, active)
            totals[alike] += parameter.numel()
            if experts and "bias" not in name:
                sizes.setdefault(alike, []).append(prod(parameter.shape[-2:]))
            again = 0 if experts or kind == "embedding" else uses.get(name, 1) - 1
            if again > 0:
                totals[replace(alike, held=False)] += again * parameter.numel()
            if kind in LINEAR and not experts and parameter.dim() == 2:
                module, _, leaf = name.removesuffix(".weight").rpartition(".")
                for turn in range(1 + again):
                    part = replace(alike, held=turn == 0)
                    sides[part].setdefault(f"{module} {turn}", []).append((leaf, *parameter.shape))
    inner = {alike: min(matrices) // config.hidden_size for alike, matrices in sizes.items()}
    whole = {part: joined(modules, config.hidden_size) for part, modules in sides.items()}
    return tuple(
        replace(part, values=values, inner=inner.get(part, 0), matrices=whole.get(part, ()))
        for part, values in totals.items()
    )


def last_layer(model: PreTrainedModel) -> str:
    """Returns the common prefix of the names of the last decoder layer's weights."""
    from torch import nn

    lists = [(name, m) for name, m in model.named_modules() if isinstance(m, nn.ModuleList)]
    name, layers = max(lists, key=lambda item: sum(p.numel() for p in item[1].parameters()))
    return f"{name}.{len(layers) - 1}."


def _sorted(model: PreTrainedModel) -> Iterator[tuple[WeightKind, str, Tensor, int]]:
    """Yields kind, name, tensor and number of experts (0: none) of every parameter."""
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
        yield kind, name, parameter, experts


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


def _quantised(kind: WeightKind, name: str, parameter: Tensor, kept: tuple[str, ...]) -> bool:
    module = name.rpartition(".")[0]
    router = module.rpartition(".")[2] in ROUTERS
    matrix = parameter.dim() >= 2 and "conv" not in module and not router
    if kind not in LINEAR or not matrix:
        return False
    # An expert's parameters are in modules of its own or bare tensors: both names are checked.
    return not any(re.search(pattern, tried) for pattern in kept for tried in (name, module))


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
