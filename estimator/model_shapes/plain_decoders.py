"""Counts decoders of plain families from their configuration, without building the model.

A layer of these families has attention with its own keys and values, and one feed-forward network.
Importing torch and transformers takes 4 s and building the model 0.2 s; this takes milliseconds.
`estimator.model_shapes.counting` counts every other model, and these where the cache is not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any

from estimator.model_shapes.counting import Counted, Part
from estimator.model_shapes.weights_and_caches import BYTES_PER_VALUE
from estimator.model_shapes.weights_by_kind import Parameters, by_kind
from simulator.cost.roofline.shapes import CacheLayers, WeightKind

# Keys of a configuration that change no size in the families of known models.
WITHOUT_SIZE = frozenset((
    "architectures", "attention_dropout", "attn_scale", "attn_temperature_tuning", "auto_map",
    "aux_loss_alpha", "bos_token_id", "cache_implementation", "draft_vocab_size", "dtype",
    "eos_token_id", "ep_size", "floor_scale", "for_llm_compressor",
    "hidden_act", "initial_context_length", "initializer_range", "max_position_embeddings",
    "max_window_layers", "n_group", "norm_topk_prob", "output_router_logits", "pad_token_id",
    "pretraining_tp", "quantization_config", "rms_norm_eps",
    "rope_interleave", "rope_parameters", "rope_scaling", "rope_theta", "routed_scaling_factor",
    "router_aux_loss_coef", "router_jitter_noise", "scoring_func", "seq_aux", "swiglu_limit",
    "topk_group", "topk_method", "torch_dtype", "transformers_version", "use_cache",
    "_attn_implementation_autoset", "_name_or_path",
))  # fmt: skip
# Class of each family in transformers.
_CLASSES = {
    "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}  # fmt: skip
_SIZES = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "vocab_size",
)  # fmt: skip
_OTHERS = {"head_dim": (int, NoneType), "tie_word_embeddings": (bool,)}
# Entries of a window, which only `use_sliding_window` makes.
_NO_WINDOW = {
    "sliding_window": (int, NoneType), "use_sliding_window": (bool,), "layer_types": (list,),
}  # fmt: skip
# Further entries that determine sizes, by family, and their types.
_FURTHER: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "llama": {"attention_bias": (bool,), "mlp_bias": (bool,)},
    "mistral": {"sliding_window": (int, NoneType)},
    "qwen2": _NO_WINDOW,
    "qwen3": {"attention_bias": (bool,), "head_dim": (int,), **_NO_WINDOW},
}
_MOST_LAYERS = 1000
# Matrices that always have biases, and norms of each head.
_BIASED = {"qwen2": ("q_proj", "k_proj", "v_proj")}
_HEAD_NORMS = {"qwen3": ("q_norm", "k_norm")}
# Head size where a configuration states none; None: the width divided by the heads.
_HEAD_SIZE = {"qwen3": 128}


def plain_count(
    config: Mapping[str, Any], kept: tuple[str, ...] = (), part: Part = "whole"
) -> Counted | None:
    """Returns the counts that `counting.count` gives; None if it must count this model.

    An entry of the configuration that is not known here, or has an unusual value, is left to
    transformers, which may refuse it.
    kept, part: arguments of `count`.
    """
    family = config.get("model_type")
    sizes = {name: value for name, value in config.items() if name not in WITHOUT_SIZE}
    if not isinstance(family, str) or family not in _CLASSES or not _usual(sizes, _FURTHER[family]):
        return None
    width, _, layers, heads, key_heads, vocabulary = (sizes[name] for name in _SIZES)
    head_size = sizes.get("head_dim") or _HEAD_SIZE.get(family) or width // heads
    tied = sizes.get("tie_word_embeddings", False)

    def parameters() -> Parameters:
        kind: WeightKind = "head" if tied else "embedding"
        yield kind, "model.embed_tokens.weight", (vocabulary, width), 0
        for layer in range(layers):
            for kind, name, *shape in _layer(sizes, family, head_size):
                yield kind, f"model.layers.{layer}.{name}", tuple(shape), 0
        yield "other", "model.norm.weight", (width,), 0
        if not tied:
            yield "head", "lm_head.weight", (vocabulary, width), 0

    within = "" if part == "whole" else f"model.layers.{layers - 1}."
    window = sizes.get("sliding_window", 4096) if family == "mistral" else None
    cache = CacheLayers(
        "full" if window is None else "sliding",
        layers if part == "whole" else 1,
        float(2 * key_heads * head_size * BYTES_PER_VALUE),
        0.0,
        window,
        float(4 * heads * head_size),
        key_heads,
    )
    weights = by_kind(parameters(), width, kept, within=within)
    return Counted(_CLASSES[family], layers, width, heads, vocabulary, weights, (cache,))


def _usual(sizes: Mapping[str, Any], further: Mapping[str, tuple[type, ...]]) -> bool:
    """Returns whether all entries are known, and the model can be built from them."""
    types = {**dict.fromkeys(_SIZES, (int,)), **_OTHERS, **further}
    if not set(_SIZES) <= sizes.keys() <= {"model_type", *types}:
        return False
    values = {name: sizes[name] for name in types if name in sizes}
    if not all(type(value) in types[name] for name, value in values.items()):
        return False
    if any(type(value) is int and value < 1 for value in values.values()):
        return False
    layers = min(sizes["num_hidden_layers"], _MOST_LAYERS)
    full = ["full_attention"] * layers
    if layers != sizes["num_hidden_layers"] or sizes.get("layer_types", full) != full:
        return False
    width, heads = sizes["hidden_size"], sizes["num_attention_heads"]
    even = width % (2 * heads) == 0 and (sizes.get("head_dim") or 2) % 2 == 0
    shared = heads % sizes["num_key_value_heads"] == 0
    return even and shared and not sizes.get("use_sliding_window", False)


def _layer(sizes: Mapping[str, Any], family: str, head_size: int) -> Iterator[Any]:
    """Yields kind, name and sides of the parameters of one layer, in the order of its modules."""
    width, inner, _, heads, key_heads, _ = (sizes[name] for name in _SIZES)
    queries, keys = heads * head_size, key_heads * head_size
    attention = {
        "q_proj": (queries, width), "k_proj": (keys, width), "v_proj": (keys, width),
        "o_proj": (width, queries),
    }  # fmt: skip
    every = tuple(attention) if sizes.get("attention_bias", False) else ()
    biased = _BIASED.get(family, every)
    for leaf, sides in attention.items():
        yield "attention", f"self_attn.{leaf}.weight", *sides
        if leaf in biased:
            yield "other", f"self_attn.{leaf}.bias", sides[0]
    for norm in _HEAD_NORMS.get(family, ()):
        yield "other", f"self_attn.{norm}.weight", head_size
    for leaf, sides in (
        ("gate_proj", (inner, width)), ("up_proj", (inner, width)), ("down_proj", (width, inner)),
    ):  # fmt: skip
        yield "feed-forward", f"mlp.{leaf}.weight", *sides
        if sizes.get("mlp_bias", False):
            yield "other", f"mlp.{leaf}.bias", sides[0]
    for norm in ("input_layernorm", "post_attention_layernorm"):
        yield "other", f"{norm}.weight", width
