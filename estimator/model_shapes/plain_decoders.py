"""Counts decoders of plain families from their configuration, without building the model.

Importing torch and transformers takes 4 s and building the model 0.2 s; this takes milliseconds.
`estimator.model_shapes.counting` counts every other model, and these where the cache is not used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import NoneType
from typing import Any

from estimator.model_shapes.counting import Counted, Part
from estimator.model_shapes.plain_families import (
    CHUNKED,
    FAMILIES,
    FLAGS,
    FULL,
    LATENT,
    SIZES,
    SLIDING,
    WITH_TEXT_PARTS,
    WITHOUT_SIZE,
    Family,
)
from estimator.model_shapes.plain_layers import layer_parameters
from estimator.model_shapes.weights_and_caches import BYTES_PER_VALUE
from estimator.model_shapes.weights_by_kind import Parameters, by_kind
from simulator.cost.roofline.shapes import CacheKind, CacheLayers, WeightKind

_MOST_LAYERS = 1000
_ACTIVE = "num_experts_per_tok"


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
    unread = {"model_type", *WITHOUT_SIZE, *flags, *family.ignored}
    read = {name: value for name, value in config.items() if name not in unread}
    defaults = {"head_dim": None, "tie_word_embeddings": False, **family.entries}
    sizes = {**defaults, **read}
    if not _usual(sizes, family, defaults):
        return None
    width, _, layers, heads, _, vocabulary = (sizes[name] for name in SIZES)
    head_size = sizes["head_dim"] or width // heads

    def parameters() -> Parameters:
        kind: WeightKind = "head" if sizes["tie_word_embeddings"] else "embedding"
        yield kind, "model.embed_tokens.weight", (vocabulary, width), 0
        for layer in range(layers):
            for kind, name, *shape in layer_parameters(sizes, family, head_size, layer):
                experts = shape[0] if ".experts." in name else 0  # they are stacked
                yield kind, f"model.layers.{layer}.{name}", tuple(shape), experts
        yield "other", "model.norm.weight", (width,), 0
        if not sizes["tie_word_embeddings"]:
            yield "head", "lm_head.weight", (vocabulary, width), 0

    windows = [_window(sizes, family, layer) for layer in range(layers)]
    caches = _caches(sizes, family, head_size, windows if part == "whole" else windows[-1:])
    within = "" if part == "whole" else f"model.layers.{layers - 1}."
    weights = by_kind(
        parameters(), width, kept, within=within,
        active=lambda experts: min(sizes[_ACTIVE], experts),
    )  # fmt: skip
    return Counted(family.name, layers, width, heads, vocabulary, weights, caches)


def _usual(sizes: Mapping[str, Any], family: Family, defaults: Mapping[str, Any]) -> bool:
    """Returns whether all entries are known, and the model can be built from them."""
    required = {*SIZES, *(LATENT if family.latent else ())}
    if family.experts is not None:
        required |= {_ACTIVE, *family.experts.entries}
    if not required <= sizes.keys() <= {*required, *defaults}:
        return False
    types: dict[type, tuple[type, ...]] = {NoneType: (int, NoneType), tuple: (list, tuple)}
    optional: dict[str, Any] = {"q_lora_rank": None}
    optional |= {"sliding_window": None} if family.full == 1 else {}
    for name, value in sizes.items():
        default = type({**defaults, **optional}.get(name, 1))
        if type(value) not in types.get(default, (default,)):
            return False
        if type(value) is int and value < (0 if defaults.get(name) == 0 else 1):
            return False
    layers = sizes["num_hidden_layers"]
    sparse = sizes.get("decoder_sparse_step", 1) == sizes.get("moe_layer_freq", 1) == 1
    sparse = sparse and not sizes.get("mlp_only_layers")
    if family.experts is not None:
        sparse = sparse and sizes[_ACTIVE] <= sizes[family.experts.entries[0]]
    windowed = sizes.get("use_sliding_window", False)
    windowed = windowed or sizes.get("sliding_window_pattern", family.full) != family.full
    if layers > _MOST_LAYERS or not sparse or windowed:
        return False
    return _divided(sizes, family) and _listed(sizes, family)


def _divided(sizes: Mapping[str, Any], family: Family) -> bool:
    """Returns whether the sizes divide into heads of even width, and heads into groups."""
    width, heads = sizes["hidden_size"], sizes["num_attention_heads"]
    widths = (sizes["head_dim"], sizes.get("qk_rope_head_dim"))
    divided = width % heads == 0 or (family.any_width and any(widths))
    even = all(size is None or size % 2 == 0 for size in widths)
    even = even and (any(widths) or width // heads % 2 == 0)
    return divided and even and heads % sizes["num_key_value_heads"] == 0


def _listed(sizes: Mapping[str, Any], family: Family) -> bool:
    """Returns whether lists over the layers are complete."""
    layers = sizes["num_hidden_layers"]
    known = {FULL, SLIDING if family.window == "sliding_window" else CHUNKED}
    lists: list[tuple[Any, set[Any]]] = [
        (sizes.get("layer_types", ()), known if family.full > 1 else {FULL}),
        (sizes.get("no_rope_layers", ()), {0, 1}),
    ]
    for values, allowed in lists:
        if len(values) not in (0, layers) or any(value not in allowed for value in values):
            return False
    moe = sizes.get("moe_layers", ())
    # An empty list is no default here: it says that no layer has experts.
    return moe != [] and all(type(layer) is int and 0 <= layer < layers for layer in moe)


def _window(sizes: Mapping[str, Any], family: Family, layer: int) -> int | None:
    """Returns the tokens that a layer reads, by its number from 0; None: all."""
    window: int | None = sizes.get(family.window)
    if "use_sliding_window" in sizes:  # it is false
        return None
    if family.full == 1:
        return window
    full = (layer + 1) % family.full == 0
    if sizes.get("no_rope_layers"):
        full = not sizes["no_rope_layers"][layer]
    if sizes["layer_types"]:
        full = sizes["layer_types"][layer] == FULL
    return None if full else window


def _caches(
    sizes: Mapping[str, Any], family: Family, head_size: int, windows: list[int | None]
) -> tuple[CacheLayers, ...]:
    """Returns the caches of layers with these windows, each kind once."""
    heads, key_heads = sizes["num_attention_heads"], sizes["num_key_value_heads"]
    if family.latent:
        latent, rotary = sizes["kv_lora_rank"], sizes["qk_rope_head_dim"]
        token_bytes = float((latent + rotary) * BYTES_PER_VALUE)
        # Latent pairs serve as keys and as values.
        operations = float(2 * heads * (2 * latent + rotary))
        return (CacheLayers("latent", len(windows), token_bytes, 0.0, None, operations, 1),)
    narrow: CacheKind = "sliding" if family.window == "sliding_window" else "chunked"
    token_bytes = float(2 * key_heads * head_size * BYTES_PER_VALUE)
    return tuple(
        CacheLayers(
            "full" if window is None else narrow, count, token_bytes, 0.0, window,
            float(4 * heads * head_size), key_heads,
        )
        for window, count in Counter(windows).items()
    )  # fmt: skip
