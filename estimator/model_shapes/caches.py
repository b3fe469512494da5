"""The caches of a model's layers, read from the cache that a pass on the meta device fills."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simulator.cost.roofline.shapes import CacheKind, CacheLayers

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedConfig


# Bytes of one cached key or value; states of linear layers have their own size.
BYTES_PER_VALUE = 2


def count_caches(cache: Any, config: PreTrainedConfig) -> tuple[CacheLayers, ...]:
    """Returns the caches of the model's layers; equal caches are counted together.

    Refuses the cache of a pass that is empty, or of an unknown kind.
    """
    alike: dict[CacheLayers, int] = {}
    for layer in layer_caches(cache, config):
        for each in layer:
            alike[each] = alike.get(each, 0) + 1
    if not alike:
        raise ValueError(f"{config.model_type} must cache keys and values or a state, got neither")
    return tuple(replace(each, layers=count) for each, count in alike.items())


def layer_caches(cache: Any, config: PreTrainedConfig) -> list[tuple[CacheLayers, ...]]:
    each_layer: list[tuple[CacheLayers, ...]] = []
    kinds = getattr(config, "layer_types", None)
    latest: dict[str, CacheLayers] = {}
    for index, layer in enumerate(cache.layers):
        kind = kinds[index] if kinds is not None and index < len(kinds) else ""
        if type(layer).__module__ != "transformers.cache_utils":
            raise ValueError(
                f"the caches of {config.model_type} are of a kind that is not covered, "
                f"{type(layer).__name__}"
            )
        keys: Tensor | None = getattr(layer, "keys", None)
        found: list[CacheLayers] = []
        if keys is not None and keys.dim() == 4:
            found = _attention(layer, kind, config.per_layer_config[index])
            latest[kind] = found[0]
        elif type(layer).__name__ == "DummyLayer" and kind in latest:
            found = [replace(latest[kind], held=False)]
        each_layer.append((*found, *_state(layer, config.per_layer_config[index])))
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
    main = CacheLayers(
        kind=found,
        layers=1,
        bytes_per_token=float(shards * (key_width + value_width) * BYTES_PER_VALUE),
        state_bytes=0.0,
        window=window,
        operations=float(2 * heads * products),
        shards=shards,
    )
    index: Tensor | None = getattr(layer, "indexer_keys", None)
    top = getattr(config, "index_topk", None)
    if index is None:
        indexed = top is not None and hasattr(layer, "indexer_keys")
        return [replace(main, kind="indexed", window=top)] if indexed else [main]
    width = index.shape[-1]
    scan = CacheLayers(
        kind="full",
        layers=1,
        bytes_per_token=float(width * BYTES_PER_VALUE),
        state_bytes=0.0,
        window=None,
        operations=float(2 * int(getattr(config, "index_n_heads", 1)) * width),
        shards=1,
    )
    return [replace(main, kind="indexed", window=top), scan]


def _state(layer: Any, config: PreTrainedConfig) -> tuple[CacheLayers, ...]:
    """Returns the state of a recurrent layer for one sequence; empty for other layers."""
    states = [
        state
        for name in ("conv_states", "recurrent_states")
        for state in getattr(layer, name, {}).values()
        if state is not None
    ]
    if not states:
        return ()
    return (
        CacheLayers(
            kind="linear",
            layers=1,
            bytes_per_token=0.0,
            state_bytes=float(sum(state.numel() * state.element_size() for state in states)),
            window=None,
            # For each token each value is decayed, added to and read once.
            operations=float(4 * sum(state.numel() for state in states)),
            shards=int(getattr(config, "num_attention_heads", 1)),
        ),
    )
