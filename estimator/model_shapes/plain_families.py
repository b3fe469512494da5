"""The modules of plain families of decoders, by the model_type of their configuration.

A layer of these families has attention to keys and values, or to a latent state, and one
feed-forward network or experts. `estimator.model_shapes.plain_decoders` counts them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

# Keys of a configuration that change no size in the families of known models.
WITHOUT_SIZE = frozenset((
    "architectures", "attention_dropout", "attn_scale", "attn_temperature_tuning", "auto_map",
    "attention_multiplier", "attn_logit_softcapping", "aux_loss_alpha", "bos_token_id",
    "cache_implementation", "draft_vocab_size", "dtype", "embd_pdrop", "embedding_multiplier",
    "eos_token_id", "ep_size", "experts_per_token", "final_logit_softcapping", "floor_scale",
    "for_llm_compressor",
    "hidden_act", "hidden_activation", "initial_context_length", "initializer_range",
    "logits_scaling", "max_position_embeddings", "max_window_layers", "n_group", "norm_topk_prob",
    "num_nextn_predict_layers",
    "original_max_position_embeddings", "output_router_logits", "pad_token_id", "pretraining_tp",
    "quantization_config", "query_pre_attn_scalar", "resid_pdrop", "residual_multiplier",
    "rms_norm_eps", "rope_interleave", "rope_local_base_freq", "rope_parameters", "rope_scaling",
    "rope_theta", "routed_scaling_factor",
    "router_aux_loss_coef", "router_jitter_noise", "scoring_func", "seq_aux", "swiglu_alpha",
    "swiglu_limit",
    "topk_group", "topk_method", "torch_dtype", "transformers_version", "use_cache",
    "_attn_implementation_autoset", "_name_or_path",
))  # fmt: skip
_QUERIES_KEYS_VALUES = ("q_proj", "k_proj", "v_proj")
_AROUND = ("input_layernorm", "post_attention_layernorm")
_FOUR = (*_AROUND, "pre_feedforward_layernorm", "post_feedforward_layernorm")
_BIASES = {"attention_bias": False}
# Entries of `layer_types`.
FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"
# Multimodal models whose text part is of one of these families.
WITH_TEXT_PARTS = ("gemma3", "kimi_k25", "llama4")
# Entries that a family which does not read them may state as false.
FLAGS = {"attention_bias", "mlp_bias", "lm_head_bias"}
_NO_WINDOW = {"sliding_window": None, "use_sliding_window": False, "layer_types": ()}
SIZES = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "vocab_size",
)  # fmt: skip
# Further entries that families with a latent state must state.
LATENT = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


class Experts(NamedTuple):
    """The modules of layers with experts.

    entries: entries with the number of experts, the width of an expert and, where configurations
      state it, the number of shared experts.
    module: module of the experts, or of the network in a layer without experts.
    dense: entry with the width of the network in a layer without experts.
    router: module that chooses the experts.
    router_first: whether a layer has its router before its experts.
    biases: whether experts and router have biases.
    shared: module of the shared experts after the router; "": none.
    """

    entries: tuple[str, ...]
    module: str = "mlp"
    dense: str = "intermediate_size"
    router: str = "gate"
    router_first: bool = False
    biases: bool = False
    shared: str = ""


class Family(NamedTuple):
    """The modules of a family.

    name: its class in transformers.
    entries: further entries of the configuration that determine sizes, with their values where a
      configuration does not state them. An entry that is None by default is an integer or None.
    norms: norms of a layer, after all matrices.
    head_norms: whether queries and keys have norms.
    joint: whether one norm is over all heads, instead of over each.
    biased: matrices with a bias, if the entry `attention_bias` is true or the family has none.
    joined: matrices of which several are one.
    full: each layer with a number that this divides reads all tokens, others a window; 1: with a
      window, all layers have it.
    window: entry with the length of a window, in tokens.
    latent: whether keys and values are projections of a latent state.
    experts: layers with experts; None: no layer has any.
    sinks: whether each head of a layer has a sink.
    any_width: whether the hidden size need not be a multiple of the heads.
    ignored: entries that change no size in this family, but do in others.
    """

    name: str
    entries: Mapping[str, Any] = MappingProxyType({})
    norms: tuple[str, ...] = _AROUND
    head_norms: bool = False
    joint: bool = False
    biased: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    full: int = 1
    window: str = "sliding_window"
    latent: bool = False
    experts: Experts | None = None
    sinks: bool = False
    any_width: bool = False
    ignored: tuple[str, ...] = ()


_ALL = (*_QUERIES_KEYS_VALUES, "o_proj")
_GEMMA = {**_BIASES, "tie_word_embeddings": True, "head_dim": 256}
_WINDOWS = {"sliding_window": 4096, "layer_types": ()}
_SHARED = Experts(
    ("n_routed_experts", "moe_intermediate_size", "n_shared_experts"), shared="shared_experts"
)
_DEEPSEEK = {**_BIASES, "moe_layer_freq": 1}
_DEEPSEEK_V3 = Family(
    "DeepseekV3ForCausalLM", {**_DEEPSEEK, "first_k_dense_replace": 3}, latent=True,
    experts=_SHARED, any_width=True,
)  # fmt: skip
FAMILIES = {
    "llama": Family("LlamaForCausalLM", {**_BIASES, "mlp_bias": False}, biased=_ALL),
    "mistral": Family("MistralForCausalLM", {"sliding_window": 4096}),
    "qwen2": Family("Qwen2ForCausalLM", _NO_WINDOW, biased=_QUERIES_KEYS_VALUES),
    "qwen3": Family(
        "Qwen3ForCausalLM", {**_BIASES, **_NO_WINDOW, "head_dim": 128}, head_norms=True,
        biased=_ALL,
    ),
    "gemma": Family("GemmaForCausalLM", _GEMMA, biased=_ALL),
    "gemma2": Family("Gemma2ForCausalLM", {**_GEMMA, **_WINDOWS}, _FOUR, biased=_ALL, full=2),
    "gemma3_text": Family(
        "Gemma3ForCausalLM",
        {**_GEMMA, **_WINDOWS, "sliding_window_pattern": 6, "num_attention_heads": 8,
         "num_key_value_heads": 4, "vocab_size": 262208},
        _FOUR, head_norms=True, biased=_ALL, full=6,
    ),
    "glm4": Family(
        "Glm4ForCausalLM", {"attention_bias": True, "head_dim": 128},
        (*_AROUND, "post_self_attn_layernorm", "post_mlp_layernorm"),
        biased=_QUERIES_KEYS_VALUES, joined=("gate_up_proj",),
    ),
    "granite": Family("GraniteForCausalLM", {**_BIASES, "mlp_bias": False}, biased=_ALL),
    "olmo2": Family(
        "Olmo2ForCausalLM", _BIASES, _FOUR[1::2], head_norms=True, joint=True, biased=_ALL
    ),
    "olmo3": Family(
        "Olmo3ForCausalLM", {**_BIASES, **_WINDOWS}, _FOUR[1::2], head_norms=True, joint=True,
        biased=_ALL, full=4,
    ),
    "phi3": Family(
        "Phi3ForCausalLM", {"sliding_window": None}, joined=("qkv_proj", "gate_up_proj")
    ),
    "mixtral": Family(
        "MixtralForCausalLM", {"sliding_window": None},
        experts=Experts(("num_local_experts", "intermediate_size"), router_first=True),
    ),
    "qwen3_moe": Family(
        "Qwen3MoeForCausalLM",
        {**_BIASES, **_NO_WINDOW, "decoder_sparse_step": 1, "mlp_only_layers": ()},
        head_norms=True, biased=_ALL, experts=Experts(("num_experts", "moe_intermediate_size")),
    ),
    "glm4_moe": Family(
        "Glm4MoeForCausalLM",
        {**_BIASES, "use_qk_norm": False, "first_k_dense_replace": 1,
         "partial_rotary_factor": 0.5},
        biased=_QUERIES_KEYS_VALUES, experts=_SHARED, any_width=True,
    ),
    "gpt_oss": Family(
        "GptOssForCausalLM",
        {**_WINDOWS, "sliding_window": 128, "attention_bias": True, "head_dim": 64},
        biased=_ALL, full=2, sinks=True,
        experts=Experts(
            ("num_local_experts", "intermediate_size"), router="router", router_first=True,
            biases=True,
        ),
    ),
    "deepseek_v2": Family(
        "DeepseekV2ForCausalLM", {**_DEEPSEEK, "mlp_bias": False, "first_k_dense_replace": 0},
        latent=True, experts=_SHARED,
    ),
    "deepseek_v3": _DEEPSEEK_V3,
    "kimi_k2": _DEEPSEEK_V3,  # the class that its checkpoints name
    "llama4_text": Family(
        "Llama4ForCausalLM",
        {**_BIASES, "head_dim": 128, "attention_chunk_size": 8192, "layer_types": (),
         "no_rope_layers": (), "moe_layers": (), "interleave_moe_layer_step": 1,
         "intermediate_size_mlp": 16384},
        biased=_ALL, full=4, window="attention_chunk_size", any_width=True,
        experts=Experts(
            ("num_local_experts", "intermediate_size"), "feed_forward", "intermediate_size_mlp",
            router="router", shared="shared_expert",
        ),
        ignored=("use_qk_norm",),
    ),
}  # fmt: skip
