"""Counts from a configuration equal counts of the model that transformers builds."""

from typing import Any

import pytest

from estimator.model_shapes.counting import count
from estimator.model_shapes.kept_counts import count_once
from estimator.model_shapes.plain_decoders import plain_count
from estimator.model_shapes.plain_families import FAMILIES, WITHOUT_SIZE
from tests.estimator.model_shapes.test_kept_counts import CHANGED, SMALL

TIED = {"tie_word_embeddings": True}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
QWEN3_EXPERTS = {"num_experts": 4, "moe_intermediate_size": 16, "num_experts_per_tok": 2}
GLM_EXPERTS = {
    "n_routed_experts": 4, "moe_intermediate_size": 16, "n_shared_experts": 1,
    "num_experts_per_tok": 2,
}  # fmt: skip
FURTHER = {
    "mixtral": EXPERTS, "qwen3_moe": QWEN3_EXPERTS, "glm4_moe": GLM_EXPERTS, "gpt_oss": EXPERTS,
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
]
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


@pytest.mark.parametrize("family", FAMILIES)
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
