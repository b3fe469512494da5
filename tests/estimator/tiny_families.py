"""Sizes of tiny models, by the names that transformers' families give them."""

from typing import Any

VOCABULARY = 40
POSITIONS = 64

# Families' names for sizes; a configuration gets the names that it has.
SIZES: dict[str, int] = (
    dict.fromkeys(["hidden_size", "d_model", "n_embd", "dim", "word_embed_proj_dim"], 16)
    | dict.fromkeys(["num_hidden_layers", "n_layer", "n_layers", "num_layers"], 2)
    | dict.fromkeys(["num_decoder_layers", "num_encoder_layers"], 2)
    | dict.fromkeys(["encoder_layers", "decoder_layers"], 2)
    | dict.fromkeys(["num_attention_heads", "n_head", "n_heads", "num_heads"], 2)
    | dict.fromkeys(["encoder_attention_heads", "decoder_attention_heads"], 2)
    | dict.fromkeys(["num_key_value_heads"], 2)
    | dict.fromkeys(["head_dim", "d_kv", "v_head_dim", "kv_lora_rank", "q_lora_rank"], 8)
    | dict.fromkeys(["qk_rope_head_dim", "qk_nope_head_dim", "rotary_dim"], 4)
    | dict.fromkeys(["intermediate_size", "n_inner", "d_ff", "ffn_dim", "hidden_dim"], 24)
    | dict.fromkeys(["encoder_ffn_dim", "decoder_ffn_dim"], 24)
    | dict.fromkeys(["moe_intermediate_size", "shared_expert_intermediate_size"], 8)
    | dict.fromkeys(["num_experts", "num_local_experts", "n_routed_experts"], 4)
    | dict.fromkeys(["num_experts_per_tok", "moe_topk"], 2)
    | dict.fromkeys(["n_group", "topk_group", "n_shared_experts", "first_k_dense_replace"], 1)
    | dict.fromkeys(["max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"], POSITIONS)
    | dict.fromkeys(
        ["max_encoder_position_embeddings", "max_decoder_position_embeddings"], POSITIONS
    )
    # Shorter than the texts.
    | {"sliding_window": 6, "attention_chunk_size": 8, "attention_window": 4}
)
# Parts of the names of settings by which the layers of a model differ.
KINDS_OF_LAYERS = (
    "attn_layer", "bucket", "expert", "first_k_dense", "layer_group", "layer_type", "mamba", "moe",
    "pattern", "sparse", "window", "attention_types",
)  # fmt: skip
DEPTHS = {
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers",
    "num_encoder_layers", "encoder_layers", "decoder_layers",
}  # fmt: skip
# Families that leave these open by default need them all the same.
OPEN = {"head_dim", "num_key_value_heads"}


def sizes_of(config: Any) -> dict[str, int]:
    """Returns the small sizes of those settings that a configuration has."""
    return {
        name: size
        for name, size in SIZES.items()
        if not isinstance(getattr(type(config), name, None), property)
        and (
            isinstance(getattr(config, name, None), int) or (hasattr(config, name) and name in OPEN)
        )
    }
