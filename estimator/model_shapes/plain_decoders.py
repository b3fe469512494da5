"""Counts decoders of plain families from their configuration, without building the model.

Importing torch and transformers takes 4 s and building the model 0.2 s; this takes milliseconds.
`estimator.model_shapes.counting` counts every other model, and these where the cache is not used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any

from estimator.model_shapes.counting import Counted, Part
from estimator.model_shapes.plain_families import (
    FAMILIES,
    FLAGS,
    FULL,
    SIZES,
    SLIDING,
    WITH_TEXT_PARTS,
    WITHOUT_SIZE,
    Family,
)
from estimator.model_shapes.weights_and_caches import BYTES_PER_VALUE
from estimator.model_shapes.weights_by_kind import Parameters, by_kind
from simulator.cost.roofline.shapes import CacheLayers, WeightKind

_MOST_LAYERS = 1000


def plain_count(
    config: Mapping[str, Any], kept: tuple[str, ...] = (), part: Part = "whole"
) -> Counted | None:
    """Returns the counts that `counting.count` gives; None if it must count this model.

    An entry of the configuration that is not known here, or has an unusual value, is left to
    transformers, which may refuse it.
    kept, part: arguments of `count`.
    """
    model_type = config.get("model_type")
    if model_type in WITH_TEXT_PARTS and isinstance(config.get("text_config"), Mapping):
        return plain_count(config["text_config"], kept, part)
    family = FAMILIES.get(model_type) if isinstance(model_type, str) else None
    if family is None:
        return None
    flags = {name for name in FLAGS - family.entries.keys() if config.get(name) is False}
    unread = {"model_type", *WITHOUT_SIZE, *flags}
    read = {name: value for name, value in config.items() if name not in unread}
    defaults = {"head_dim": None, "tie_word_embeddings": False, **family.entries}
    sizes = {**defaults, **read}
    if not _usual(sizes, family, defaults):
        return None
    width, _, layers, heads, key_heads, vocabulary = (sizes[name] for name in SIZES)
    head_size = sizes["head_dim"] or width // heads

    def parameters() -> Parameters:
        kind: WeightKind = "head" if sizes["tie_word_embeddings"] else "embedding"
        yield kind, "model.embed_tokens.weight", (vocabulary, width), 0
        for layer in range(layers):
            for kind, name, *shape in _layer(sizes, family, head_size, layer):
                experts = shape[0] if ".experts." in name else 0  # they are stacked
                yield kind, f"model.layers.{layer}.{name}", tuple(shape), experts
        yield "other", "model.norm.weight", (width,), 0
        if not sizes["tie_word_embeddings"]:
            yield "head", "lm_head.weight", (vocabulary, width), 0

    windows = [_window(sizes, family, layer) for layer in range(layers)]
    caches = tuple(
        CacheLayers(
            "full" if window is None else "sliding",
            count,
            float(2 * key_heads * head_size * BYTES_PER_VALUE),
            0.0,
            window,
            float(4 * heads * head_size),
            key_heads,
        )
        for window, count in Counter(windows if part == "whole" else windows[-1:]).items()
    )
    within = "" if part == "whole" else f"model.layers.{layers - 1}."
    weights = by_kind(
        parameters(), width, kept, within=within,
        active=lambda experts: min(sizes["num_experts_per_tok"], experts),
    )  # fmt: skip
    return Counted(family.name, layers, width, heads, vocabulary, weights, caches)


def _usual(sizes: Mapping[str, Any], family: Family, defaults: Mapping[str, Any]) -> bool:
    """Returns whether all entries are known, and the model can be built from them."""
    required = {*SIZES, *family.experts}
    if not required <= sizes.keys() <= {*required, *defaults}:
        return False
    types: dict[type, tuple[type, ...]] = {NoneType: (int, NoneType), tuple: (list, tuple)}
    windows: dict[str, Any] = {"sliding_window": None} if family.full == 1 else {}
    for name, value in sizes.items():
        default = type({**defaults, **windows}.get(name, 1))
        if type(value) not in types.get(default, (default,)):
            return False
        if type(value) is int and value < 1:
            return False
    layers, width = sizes["num_hidden_layers"], sizes["hidden_size"]
    heads = sizes["num_attention_heads"]
    kinds = list(sizes.get("layer_types", ()))
    known = {FULL, SLIDING} if family.full > 1 else {FULL}
    listed = not kinds or (len(kinds) == layers and set(kinds) <= known)
    divided = width % heads == 0 or (family.any_width and sizes["head_dim"] is not None)
    even = divided and (sizes["head_dim"] or width // heads) % 2 == 0
    shared = heads % sizes["num_key_value_heads"] == 0
    sparse = sizes.get("decoder_sparse_step", 1) == 1 and not sizes.get("mlp_only_layers")
    if family.experts:
        sparse = sparse and sizes["num_experts_per_tok"] <= sizes[family.experts[0]]
    windowed = sizes.get("use_sliding_window", False)
    windowed = windowed or sizes.get("sliding_window_pattern", family.full) != family.full
    return layers <= _MOST_LAYERS and listed and even and shared and sparse and not windowed


def _window(sizes: Mapping[str, Any], family: Family, layer: int) -> int | None:
    """Returns the tokens that a layer reads, by its number from 0; None: all."""
    window: int | None = sizes.get("sliding_window")
    if "use_sliding_window" in sizes:  # it is false
        return None
    if family.full == 1:
        return window
    kinds = sizes["layer_types"]
    full = kinds[layer] == FULL if kinds else (layer + 1) % family.full == 0
    return None if full else window


def _layer(sizes: Mapping[str, Any], family: Family, head_size: int, layer: int) -> Iterator[Any]:
    """Yields kind, name and sides of the parameters of a layer, in the order of its modules."""
    width, inner, _, heads, key_heads, _ = (sizes[name] for name in SIZES)
    queries, keys = heads * head_size, key_heads * head_size
    attention = {
        "q_proj": (queries, width), "k_proj": (keys, width), "v_proj": (keys, width),
        "o_proj": (width, queries),
    }  # fmt: skip
    if "qkv_proj" in family.joined:
        attention = {"o_proj": (width, queries), "qkv_proj": (queries + 2 * keys, width)}
    if family.sinks:
        yield "other", "self_attn.sinks", heads
    biased = family.biased if sizes.get("attention_bias", True) else ()
    for leaf, sides in attention.items():
        yield "attention", f"self_attn.{leaf}.weight", *sides
        if leaf in biased:
            yield "other", f"self_attn.{leaf}.bias", sides[0]
    for norm, all_heads in (("q_norm", queries), ("k_norm", keys)):
        if sizes.get("use_qk_norm", family.head_norms):
            yield "other", f"self_attn.{norm}.weight", all_heads if family.joint else head_size
    dense = not family.experts or layer < sizes.get("first_k_dense_replace", 0)
    yield from _network(sizes, family, inner) if dense else _experts(sizes, family)
    for norm in family.norms:
        yield "other", f"{norm}.weight", width


def _network(
    sizes: Mapping[str, Any], family: Family, inner: int, name: str = "mlp"
) -> Iterator[Any]:
    """Yields the parameters of a feed-forward network as `_layer` does."""
    width = sizes["hidden_size"]
    ahead = {"gate_proj": inner, "up_proj": inner}
    if "gate_up_proj" in family.joined:
        ahead = {"gate_up_proj": 2 * inner}
    matrices = {leaf: (outputs, width) for leaf, outputs in ahead.items()}
    for leaf, sides in {**matrices, "down_proj": (width, inner)}.items():
        yield "feed-forward", f"{name}.{leaf}.weight", *sides
        if sizes.get("mlp_bias", False):
            yield "other", f"{name}.{leaf}.bias", sides[0]


def _experts(sizes: Mapping[str, Any], family: Family) -> Iterator[Any]:
    """Yields the parameters of a layer's experts and of their router as `_layer` does."""
    width, (count, inner, *shared) = sizes["hidden_size"], (sizes[name] for name in family.experts)
    name = "router" if family.expert_biases else "gate"
    router: list[Any] = [("feed-forward", f"mlp.{name}.weight", count, width)]
    if family.expert_biases:
        router.append(("other", f"mlp.{name}.bias", count))
    if family.router_first:
        yield from router
    for leaf, outputs, inputs in (("gate_up_proj", 2 * inner, width), ("down_proj", width, inner)):
        yield "experts", f"mlp.experts.{leaf}", count, outputs, inputs
        if family.expert_biases:
            yield "experts", f"mlp.experts.{leaf}_bias", count, outputs
    if not family.router_first:
        yield from router
    for number in shared:
        yield from _network(sizes, family, number * inner, "mlp.shared_experts")
