"""Shapes read from Hugging Face configurations, against the published sizes of those models."""

from typing import Any

import pytest

from simulator.cost.model_shape import ModelShape

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
QWEN3_06B: dict[str, Any] = {
    "model_type": "qwen3",
    "num_hidden_layers": 28,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
    "dtype": "bfloat16",
}
GPT2: dict[str, Any] = {
    "model_type": "gpt2",
    "n_layer": 12,
    "n_embd": 768,
    "n_head": 12,
    "vocab_size": 50257,
    "n_inner": None,
    "dtype": "float32",
}
OPT_125M: dict[str, Any] = {
    "model_type": "opt",
    "num_hidden_layers": 12,
    "hidden_size": 768,
    "ffn_dim": 3072,
    "num_attention_heads": 12,
    "vocab_size": 50272,
    "torch_dtype": "float16",
}


@pytest.mark.parametrize(
    ("config", "parameters"),
    # Published: Llama 3.1 8B has 8.03e9 and Qwen3-0.6B 0.596e9 parameters; GPT-2 124.4e6 and
    # OPT 125.2e6, of which 0.79e6 and 1.57e6 are position embeddings, which are not multiplied.
    [
        (LLAMA_8B, 8.03e9),
        (QWEN3_06B, 0.596e9),
        (GPT2, 124.4e6 - 0.79e6),
        (OPT_125M, 125.2e6 - 1.57e6),
    ],
    ids=["llama", "qwen3", "gpt2", "opt"],
)
def test_parameters_are_those_published(config: dict[str, Any], parameters: float) -> None:
    # Biases and norms are left out: 0.1 % of GPT-2, far less of larger models.
    assert ModelShape.from_config(config).parameters == pytest.approx(parameters, rel=1.5e-3)


def test_cache_grows_by_128_kib_a_token_in_llama_8b() -> None:
    assert ModelShape.from_config(LLAMA_8B).cache_bytes_per_token == 128 * 1024


def test_a_head_dimension_of_its_own_is_used() -> None:
    shape = ModelShape.from_config(QWEN3_06B)
    assert shape.head_dim == 128
    assert shape.cache_bytes_per_token == 2 * 28 * 8 * 128 * 2


def test_multi_query_attention_keeps_one_head() -> None:
    config = GPT2 | {"model_type": "gpt_bigcode", "multi_query": True}
    assert ModelShape.from_config(config).kv_heads == 1


def test_the_text_part_of_a_multimodal_configuration_counts() -> None:
    config = {"model_type": "gemma3", "dtype": "bfloat16", "text_config": dict(LLAMA_8B)}
    del config["text_config"]["torch_dtype"]  # type: ignore[attr-defined]
    assert ModelShape.from_config(config).layers == 32


def test_the_number_format_can_be_given() -> None:
    without = {key: value for key, value in GPT2.items() if key != "dtype"}
    assert ModelShape.from_config(without, dtype="float16").bytes_per_value == 2


@pytest.mark.parametrize(
    ("config", "missing"),
    [
        (LLAMA_8B, "num_hidden_layers"),
        (LLAMA_8B, "hidden_size"),
        (LLAMA_8B, "intermediate_size"),
        (LLAMA_8B, "num_attention_heads"),
        (LLAMA_8B, "vocab_size"),
        (LLAMA_8B, "torch_dtype"),
    ],
)
def test_a_missing_field_is_named(config: dict[str, Any], missing: str) -> None:
    with pytest.raises(ValueError, match=f"config.json has no {missing}"):
        ModelShape.from_config({key: value for key, value in config.items() if key != missing})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 0}, "hidden_size in config.json must be an integer of at least 1, got 0"),
        ({"vocab_size": "many"}, "vocab_size in config.json must be an integer .* got 'many'"),
        ({"num_attention_heads": 33}, "hidden size 4096 is not a multiple of 33 heads"),
        ({"torch_dtype": "int4"}, "dtype must be one of float32, bfloat16, float16, got int4"),
        ({"num_local_experts": 8}, "a mixture of experts .num_local_experts."),
        ({"kv_lora_rank": 512}, "a compressed key-value cache"),
        ({"quantization_config": {"bits": 4}}, "quantised weights"),
        ({"is_encoder_decoder": True}, "describes an encoder–decoder"),
    ],
)
def test_what_the_model_does_not_cover_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ModelShape.from_config(LLAMA_8B | change)
