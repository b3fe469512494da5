"""Counts from a configuration equal counts of the model that transformers builds."""

from pathlib import Path
from typing import Any

import pytest

from estimator.model_shapes.counting import count, without_storage
from estimator.model_shapes.kept_counts import count_once
from estimator.model_shapes.plain_decoders import plain_count
from estimator.model_shapes.plain_families import FAMILIES, WITHOUT_SIZE
from estimator.model_shapes.shape import storage
from simulator.cost.roofline.matrices import Matrix
from tests.estimator.model_shapes.test_kept_counts import CONFIGS, SMALL, published

TIED = {"tie_word_embeddings": True}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
QWEN3_EXPERTS = {"num_experts": 4, "moe_intermediate_size": 16, "num_experts_per_tok": 2}
GLM_EXPERTS = {
    "n_routed_experts": 4, "moe_intermediate_size": 16, "n_shared_experts": 1,
    "num_experts_per_tok": 2,
}  # fmt: skip
DEEPSEEK = {
    **GLM_EXPERTS, "n_routed_experts": 8, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
    "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
    "v_head_dim": 8, "num_key_value_heads": 4,
}  # fmt: skip
LLAMA_4 = {
    "head_dim": 32,
    "num_local_experts": 4,
    "num_experts_per_tok": 1,
    "num_hidden_layers": 4,
    "interleave_moe_layer_step": 2,
    "intermediate_size_mlp": 48,
    "attention_chunk_size": 8,
}
FURTHER = {
    "mixtral": EXPERTS, "qwen3_moe": QWEN3_EXPERTS, "glm4_moe": GLM_EXPERTS, "gpt_oss": EXPERTS,
    "deepseek_v2": DEEPSEEK, "deepseek_v3": DEEPSEEK, "llama4_text": LLAMA_4,
}  # fmt: skip
# Values other than the defaults of settings that change no size.
CHANGED: dict[str, Any] = {
    "architectures": ["Other"], "attention_dropout": 0.5, "bos_token_id": 7,
    "draft_vocab_size": 50, "dtype": "float16", "eos_token_id": [8, 9], "hidden_act": "gelu",
    "initializer_range": 0.5, "max_position_embeddings": 77, "max_window_layers": 1,
    "norm_topk_prob": True, "output_router_logits": True, "pretraining_tp": 2,
    "rms_norm_eps": 0.1, "rope_parameters": {"rope_type": "default", "rope_theta": 77.0},
    "rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rope_theta": 55.0,
    "router_aux_loss_coef": 0.5, "torch_dtype": "float16", "transformers_version": "1.0",
    "use_cache": False, "_name_or_path": "elsewhere", "attn_scale": 0.5,
    "attn_temperature_tuning": False, "auto_map": {"AutoModel": "a.B"}, "aux_loss_alpha": 0.5,
    "cache_implementation": "hybrid", "ep_size": 2, "floor_scale": 8,
    "for_llm_compressor": True, "initial_context_length": 16, "n_group": 2, "pad_token_id": 5,
    "num_nextn_predict_layers": 2,
    "quantization_config": {"quant_method": "fp8"}, "attention_multiplier": 0.5,
    "attn_logit_softcapping": 25.0, "embd_pdrop": 0.5, "embedding_multiplier": 2.0,
    "final_logit_softcapping": 15.0, "hidden_activation": "gelu", "logits_scaling": 2.0,
    "original_max_position_embeddings": 77, "query_pre_attn_scalar": 64, "resid_pdrop": 0.5,
    "residual_multiplier": 0.5, "rope_local_base_freq": 55.0,
    "rope_interleave": False, "routed_scaling_factor": 0.5, "router_jitter_noise": 0.5,
    "scoring_func": "softmax", "seq_aux": True, "swiglu_limit": 5.0, "topk_group": 2,
    "experts_per_token": 3, "swiglu_alpha": 1.5, "topk_method": "greedy",
    "_attn_implementation_autoset": True,
}  # fmt: skip
# Entries of a family for which transformers wants another form than other families have.
OTHER_FORMS = {
    ("phi3", "rope_parameters"), ("phi3", "rope_scaling"), ("gemma3_text", "rope_parameters"),
    ("gemma3_text", "rope_scaling"), ("olmo3", "rope_parameters"), ("olmo3", "rope_scaling"),
}  # fmt: skip
# Some families' own padding lies outside a small vocabulary.
PADDED = SMALL | {"pad_token_id": 0}
# Entries of a configuration in addition to SMALL, by family.
COVERED: list[tuple[str, dict[str, Any]]] = [
    ("llama", {}),
    ("llama", TIED),
    ("llama", {"head_dim": 32, "attention_bias": True}),
    ("llama", {"mlp_bias": True, "num_key_value_heads": 4, "head_dim": None}),
    ("mistral", {}),
    ("mistral", {"sliding_window": 16, "head_dim": 8}),
    ("mistral", {"sliding_window": None, "num_key_value_heads": 1}),
    ("qwen2", {}),
    ("qwen2", {"layer_types": ["full_attention"] * 2}),
    ("qwen2", {"use_sliding_window": False, "sliding_window": 16, **TIED}),
    ("qwen3", {}),
    ("qwen3", {"attention_bias": True, "head_dim": 32, "sliding_window": None}),
    ("qwen3", {"use_sliding_window": False, "num_hidden_layers": 3, **TIED}),
    ("gemma", {}),
    ("gemma", {"attention_bias": True, "head_dim": 32, "tie_word_embeddings": False}),
    ("gemma2", {"num_hidden_layers": 5}),
    ("gemma2", {"head_dim": 16, "attention_bias": True, "sliding_window": 16}),
    ("gemma2", {"layer_types": ["full_attention", "sliding_attention"]}),
    ("gemma3_text", {"num_hidden_layers": 7, "sliding_window_pattern": 6}),
    ("gemma3_text", {"num_hidden_layers": 3, "sliding_window": 512, "head_dim": 32}),
    ("glm4", {}),
    ("glm4", {"attention_bias": False, "head_dim": 16}),
    ("granite", {}),
    ("granite", {"attention_bias": True, "mlp_bias": True, **TIED}),
    ("granite", {"head_dim": 32}),
    ("olmo2", {}),
    ("olmo2", {"attention_bias": True, "head_dim": 8}),
    ("olmo3", {"num_hidden_layers": 6}),
    ("olmo3", {"sliding_window": 7, "attention_bias": True}),
    ("phi3", {}),
    ("phi3", {"sliding_window": 100, "attention_bias": False, "lm_head_bias": False}),
    ("phi3", {"head_dim": 32, **TIED}),
    ("mixtral", EXPERTS),
    ("mixtral", {**EXPERTS, "num_experts_per_tok": 3, "sliding_window": 12, "head_dim": 32}),
    ("mixtral", {**EXPERTS, "attention_bias": False}),
    ("qwen3_moe", QWEN3_EXPERTS),
    ("qwen3_moe", {**QWEN3_EXPERTS, "head_dim": 32, "attention_bias": True}),
    ("qwen3_moe", {**QWEN3_EXPERTS, "mlp_only_layers": [], "layer_types": ["full_attention"] * 2}),
    ("glm4_moe", GLM_EXPERTS),
    ("glm4_moe", {**GLM_EXPERTS, "use_qk_norm": True, "attention_bias": True, "head_dim": 32}),
    ("glm4_moe", {**GLM_EXPERTS, "first_k_dense_replace": 3, "num_hidden_layers": 4, **TIED}),
    ("glm4_moe", {**GLM_EXPERTS, "n_shared_experts": 2, "first_k_dense_replace": 2}),
    ("glm4_moe", {**GLM_EXPERTS, "num_attention_heads": 6, "head_dim": 16}),
    ("gpt_oss", EXPERTS),
    ("gpt_oss", {**EXPERTS, "head_dim": 32, "num_hidden_layers": 5, "sliding_window": 8}),
    ("gpt_oss", {**EXPERTS, "layer_types": ["full_attention", "sliding_attention"], **TIED}),
    ("gpt_oss", {**EXPERTS, "attention_bias": False, "num_experts_per_tok": 3}),
    ("deepseek_v2", DEEPSEEK),
    ("deepseek_v2", {**DEEPSEEK, "q_lora_rank": None, "first_k_dense_replace": 0}),
    ("deepseek_v2", {**DEEPSEEK, "mlp_bias": True, "attention_bias": True, "n_shared_experts": 2}),
    ("deepseek_v3", DEEPSEEK),
    ("deepseek_v3", {**DEEPSEEK, "q_lora_rank": None, "num_nextn_predict_layers": 0, **TIED}),
    ("deepseek_v3", {**DEEPSEEK, "attention_bias": True, "num_hidden_layers": 5, "head_dim": 4}),
    ("deepseek_v3", {**DEEPSEEK, "num_attention_heads": 6, "num_key_value_heads": 6}),
    ("llama4_text", LLAMA_4),
    ("llama4_text", {**LLAMA_4, "interleave_moe_layer_step": 1, "use_qk_norm": False, **TIED}),
    ("llama4_text", {**LLAMA_4, "attention_bias": True, "num_hidden_layers": 7}),
    ("llama4_text", {**LLAMA_4, "moe_layers": [0, 2], "no_rope_layers": [0, 1, 1, 0]}),
    ("llama4_text", {**LLAMA_4, "layer_types": ["chunked_attention", "full_attention"] * 2}),
    ("llama4_text", {**LLAMA_4, "num_attention_heads": 6, "no_rope_layers": []}),
]
# Sizes of moonshotai/Kimi-K2-Instruct.
KIMI_K2 = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "n_routed_experts": 384,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "num_nextn_predict_layers": 0,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "vocab_size": 163840,
}
KEPT = [(), ("lm_head", r"(^|\.)layers\.1\.mlp"), (r"q_proj$",)]


@pytest.mark.parametrize("part", ["whole", "last layer"])
@pytest.mark.parametrize("kept", KEPT, ids=["all", "some", "one"])
@pytest.mark.parametrize(("family", "entries"), COVERED)
def test_counts_are_those_of_the_built_model(
    family: str, entries: dict[str, Any], kept: tuple[str, ...], part: Any
) -> None:
    config = {**PADDED, "model_type": family, **entries}
    counted = plain_count(config, kept, part)
    assert counted is not None
    assert counted == count(config, kept, part)


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"kimi_k2"}))
def test_entries_without_a_size_change_no_count(family: str) -> None:
    config = {**PADDED, "model_type": family, **FURTHER.get(family, {})}
    assert set(CHANGED) == WITHOUT_SIZE
    changed = {name: value for name, value in CHANGED.items() if (family, name) not in OTHER_FORMS}
    assert plain_count(config | CHANGED) == plain_count(config) == count(config | changed)


@pytest.mark.parametrize(
    "entries",
    [
        {"model_type": "seed_oss"},
        {"model_type": ["llama"]},
        {"new": 1},
        {"vocab_size": None},
        {"vocab_size": 100.0},
        {"num_hidden_layers": True},
        {"num_hidden_layers": 0},
        {"num_hidden_layers": 10**9},
        {"hidden_size": 60},
        {"hidden_size": 66},
        {"head_dim": 15},
        {"num_key_value_heads": 3},
        {"tie_word_embeddings": None},
        {"sliding_window": 16},
        {"model_type": "qwen3", "layer_types": ["full_attention", "sliding_attention"]},
        {"model_type": "qwen3", "layer_types": ["full_attention"]},
        {"model_type": "qwen3", "head_dim": None},
        {"model_type": "qwen2", "attention_bias": True},
        {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 16},
        {"model_type": "phi3", "attention_bias": True},
        {"model_type": "gemma2", "layer_types": ["full_attention"]},
        {"model_type": "gemma2", "layer_types": ["full_attention", "chunked_attention"]},
        {"model_type": "gemma3_text", "sliding_window_pattern": 2},
        {"model_type": "mixtral"},
        {"model_type": "gpt_oss", **EXPERTS, "num_experts_per_tok": 5},
        {"model_type": "gpt_oss", **EXPERTS, "sliding_window": None},
        {"model_type": "glm4_moe", **GLM_EXPERTS, "first_k_dense_replace": 0},
        {"model_type": "glm4_moe", **GLM_EXPERTS, "n_shared_experts": None},
        {"model_type": "mixtral", **EXPERTS, "num_experts_per_tok": 5},
        {"model_type": "mixtral", "num_local_experts": 4},
        {"model_type": "deepseek_v3", **DEEPSEEK, "moe_layer_freq": 2},
        {"model_type": "deepseek_v3", **DEEPSEEK, "qk_rope_head_dim": 5},
        {"model_type": "deepseek_v3", **DEEPSEEK, "head_dim": 5},
        {"model_type": "deepseek_v3", **DEEPSEEK, "kv_lora_rank": None},
        {"model_type": "deepseek_v2", **DEEPSEEK, "num_attention_heads": 5},
        {"model_type": "llama4_text", **LLAMA_4, "moe_layers": []},
        {"model_type": "llama4_text", **LLAMA_4, "moe_layers": [4]},
        {"model_type": "llama4_text", **LLAMA_4, "no_rope_layers": [1, 0]},
        {"model_type": "llama4_text", **LLAMA_4, "layer_types": ["sliding_attention"] * 4},
        {"model_type": "llama4_text", **LLAMA_4, "attention_chunk_size": None},
        {"model_type": "qwen3_moe", **QWEN3_EXPERTS, "mlp_only_layers": [0]},
        {"model_type": "qwen3_moe", **QWEN3_EXPERTS, "decoder_sparse_step": 2},
    ],
    ids=str,
)
def test_unusual_entries_are_left_to_transformers(entries: dict[str, Any]) -> None:
    assert plain_count({**SMALL, **entries}) is None


def test_text_parts_of_gemma_3_are_counted_with_its_own_sizes() -> None:
    """Published ones leave out the heads and the vocabulary."""
    text = {
        "model_type": "gemma3_text", "hidden_size": 64, "intermediate_size": 96,
        "num_hidden_layers": 7, "sliding_window": 16,
    }  # fmt: skip
    config = {"model_type": "gemma3", "text_config": text, "vision_config": {}}
    assert plain_count(config) == plain_count(text) == count(config)


@pytest.mark.parametrize("name", ["hidden_size", "num_key_value_heads", "intermediate_size"])
def test_a_size_that_is_not_stated_is_left_to_transformers(name: str) -> None:
    assert plain_count({key: value for key, value in SMALL.items() if key != name}) is None


def test_a_plain_decoder_is_counted_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = count(SMALL)
    monkeypatch.setattr("estimator.model_shapes.kept_counts.count", None)
    assert count_once(SMALL) == expected


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.json")), ids=lambda file: file.stem)
def test_the_shipped_configurations_are_of_plain_families(file: Path) -> None:
    config = published(file.stem)
    if "draft_vocab_size" in config:  # what the layers of its kind of head are counted as
        config["vocab_size"] = config["draft_vocab_size"]
    assert plain_count(without_storage(config), storage(config).kept) is not None


@pytest.mark.parametrize("part", ["whole", "last layer"])
@pytest.mark.parametrize("name", ["deepseek-v3", "gpt-oss-120b", "llama-4-maverick"])
def test_models_of_published_sizes_are_counted_as_built(name: str, part: Any) -> None:
    config = without_storage(published(name))
    assert plain_count(config, (), part) == count(config, (), part)


def test_counted_matrices_hold_all_values_of_attention_and_feed_forward_networks() -> None:
    latent = 0
    for file in CONFIGS.glob("*.json"):
        counted = plain_count(without_storage(published(file.stem)))
        for part in () if counted is None else counted.weights:
            values = sum(m.outputs * m.inputs * m.copies for m in part.matrices)
            assert values == (part.values if part.kind in ("attention", "feed-forward") else 0)
            # DeepSeek's projections to the latent state are whole on every GPU, its heads are not.
            latent += Matrix(2112, 7168, "whole", 61) in part.matrices
    assert latent > 0


def test_kimi_k2_is_counted_as_the_class_that_its_checkpoints_name() -> None:
    """Its makers publish 1.04 trillion parameters, 32.6 billion of them active."""
    config = KIMI_K2 | {"model_type": "kimi_k2"}
    counted = plain_count(config)
    assert counted == plain_count(KIMI_K2) == count(KIMI_K2)
    assert counted is not None
    assert sum(part.values for part in counted.weights) / 1e12 == pytest.approx(1.04, abs=0.02)
    active = sum(
        part.values * part.active // part.experts if part.experts else part.values
        for part in counted.weights
    )
    assert active / 1e9 == pytest.approx(32.6, abs=0.5)


def test_lists_of_llama_4_that_follow_from_other_keys_change_no_count() -> None:
    """As the published configuration has them, in the text's part of a model that also sees."""
    maverick = published("llama-4-maverick")
    lists = {"moe_layers": list(range(1, 48, 2)), "no_rope_layers": [1, 1, 1, 0] * 12}
    whole = {"model_type": "llama4", "text_config": maverick | lists | {"use_qk_norm": False}}
    assert plain_count(whole) == plain_count(maverick) is not None
    assert plain_count(maverick | {"no_rope_layers": [1, 0] * 24}) != plain_count(maverick)
