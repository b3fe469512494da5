"""Lists the parameters of a decoder's layers from the sizes in its configuration.

Parameters are in the order of the modules of transformers. Each is a kind of weight, a name within
the layer, and the sides of the tensor.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from estimator.model_shapes.plain_families import SIZES, Experts, Family


def layer_parameters(
    sizes: Mapping[str, Any], family: Family, head_size: int, layer: int
) -> Iterator[Any]:
    """Yields kind, name and sides of the parameters of a layer, by its number from 0.

    sizes: a configuration of the family, with the family's defaults.
    head_size: width of a head; not used where keys and values are projections of a latent state.
    """
    yield from (_latent_attention(sizes) if family.latent else _attention(sizes, family, head_size))
    experts = family.experts
    if experts is None:
        yield from _network(sizes, family, sizes["intermediate_size"], "mlp")
    elif _has_experts(sizes, layer):
        yield from _experts(sizes, family, experts)
    else:
        yield from _network(sizes, family, sizes[experts.dense], experts.module)
    for norm in family.norms:
        yield "other", f"{norm}.weight", sizes["hidden_size"]


def _has_experts(sizes: Mapping[str, Any], layer: int) -> bool:
    if sizes.get("moe_layers"):
        return layer in sizes["moe_layers"]
    dense = layer < sizes.get("first_k_dense_replace", 0)
    return not dense and (layer + 1) % sizes.get("interleave_moe_layer_step", 1) == 0


def _latent_attention(sizes: Mapping[str, Any]) -> Iterator[Any]:
    """Yields the parameters of attention to a latent state (DeepSeek-V2 2024, section 2.1)."""
    width, heads = sizes["hidden_size"], sizes["num_attention_heads"]
    rank, latent, rotary = (
        sizes[name] for name in ("q_lora_rank", "kv_lora_rank", "qk_rope_head_dim")
    )
    queries = heads * (sizes["qk_nope_head_dim"] + rotary)
    pairs = heads * (sizes["qk_nope_head_dim"] + sizes["v_head_dim"])
    ahead: dict[str, tuple[int, ...]] = {"q_proj": (queries, width)}
    if rank is not None:
        ahead = {
            "q_a_proj": (rank, width), "q_a_layernorm": (rank,), "q_b_proj": (queries, rank),
        }  # fmt: skip
    modules = {
        **ahead, "kv_a_proj_with_mqa": (latent + rotary, width), "kv_a_layernorm": (latent,),
        "kv_b_proj": (pairs, latent), "o_proj": (width, heads * sizes["v_head_dim"]),
    }  # fmt: skip
    for leaf, sides in modules.items():
        yield "attention" if len(sides) > 1 else "other", f"self_attn.{leaf}.weight", *sides
        if sizes["attention_bias"] and leaf in ("q_a_proj", "kv_a_proj_with_mqa", "o_proj"):
            yield "other", f"self_attn.{leaf}.bias", sides[0]


def _attention(sizes: Mapping[str, Any], family: Family, head_size: int) -> Iterator[Any]:
    """Yields the parameters of attention to keys and values of each head or group of heads."""
    width, _, _, heads, key_heads, _ = (sizes[name] for name in SIZES)
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


def _network(sizes: Mapping[str, Any], family: Family, inner: int, name: str) -> Iterator[Any]:
    """Yields the parameters of a feed-forward network as `layer_parameters` does."""
    width = sizes["hidden_size"]
    ahead = {"gate_proj": inner, "up_proj": inner}
    if "gate_up_proj" in family.joined:
        ahead = {"gate_up_proj": 2 * inner}
    matrices = {leaf: (outputs, width) for leaf, outputs in ahead.items()}
    for leaf, sides in {**matrices, "down_proj": (width, inner)}.items():
        yield "feed-forward", f"{name}.{leaf}.weight", *sides
        if sizes.get("mlp_bias", False):
            yield "other", f"{name}.{leaf}.bias", sides[0]


def _experts(sizes: Mapping[str, Any], family: Family, experts: Experts) -> Iterator[Any]:
    """Yields the parameters of a layer's experts and of their router as `layer_parameters` does."""
    width, (count, inner, *_) = sizes["hidden_size"], (sizes[name] for name in experts.entries)
    name = experts.module
    router: list[Any] = [("feed-forward", f"{name}.{experts.router}.weight", count, width)]
    if experts.biases:
        router.append(("other", f"{name}.{experts.router}.bias", count))
    if experts.router_first:
        yield from router
    for leaf, outputs, inputs in (("gate_up_proj", 2 * inner, width), ("down_proj", width, inner)):
        yield "experts", f"{name}.experts.{leaf}", count, outputs, inputs
        if experts.biases:
            yield "experts", f"{name}.experts.{leaf}_bias", count, outputs
    if not experts.router_first:
        yield from router
    if experts.shared:
        shared = sizes.get("n_shared_experts", 1) * inner
        yield from _network(sizes, family, shared, f"{name}.{experts.shared}")
