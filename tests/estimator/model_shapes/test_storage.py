"""The storage of weights: as requested, or by a configuration's quantization_config."""

from typing import Any

import pytest

from estimator.model_shapes.shape import shape_of, storage
from tests.estimator.published_heads import llama

LLAMA = llama(256, 512, 4, 2, 1000) | {"num_hidden_layers": 2, "torch_dtype": "bfloat16"}
LAYERS = 2 * (256 * (256 + 128) * 2 + 3 * 256 * 512)
MATRICES = 2 * 256 * 1000
NORMS = 5 * 256
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": True}
FP8 = {
    "quant_method": "fp8",
    "activation_scheme": "dynamic",
    "weight_block_size": [128, 128],
    "modules_to_not_convert": ["lm_head"],
}


def compressed(weights: dict[str, Any], inputs: Any, *ignored: str) -> dict[str, Any]:
    """Returns a configuration of compressed-tensors, whose head stays plain."""
    group = {"weights": weights | {"type": "int"}, "input_activations": inputs}
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": group},
        "ignore": ["lm_head", *ignored],
    }


W8A8 = compressed({"num_bits": 8, "strategy": "channel"}, {"num_bits": 8, "type": "int"})
W4A16 = compressed({"num_bits": 4, "group_size": 128, "symmetric": True}, None, "re:.*mlp.*")
NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}


@pytest.mark.parametrize(
    ("quantisation", "layer_bytes", "activations"),
    [
        (AWQ, LAYERS * (0.5 + 2.5 / 128), "bfloat16"),
        (GPTQ, LAYERS * (0.5 + 2 / 32), "bfloat16"),
        (FP8, LAYERS * (1 + 4 / 128**2), "fp8"),
        (W8A8, LAYERS * (1 + 2 / 4096), "int8"),
        (NVFP4, LAYERS * 4.5 / 8, "fp4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, LAYERS * (0.5 + 4 / 64),
         "bfloat16"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, LAYERS * (1 + 2 / 4096),
         "bfloat16"),
        ({"quant_method": "mxfp4"}, LAYERS * 4.25 / 8, "bfloat16"),
    ],
    ids=["awq", "gptq", "fp8", "w8a8", "nvfp4", "nf4", "int8", "mxfp4"],
)  # fmt: skip
def test_linear_layers_are_stored_as_the_configuration_says(
    quantisation: dict[str, Any], layer_bytes: float, activations: str
) -> None:
    shape = shape_of(LLAMA | {"quantization_config": quantisation})
    assert shape.weight_bytes == pytest.approx(layer_bytes + 2 * (MATRICES + NORMS), rel=1e-12)
    assert shape.activations == activations
    attention = next(weight for weight in shape.weights if weight.kind == "attention")
    assert attention.computed_in == activations


def test_modules_that_are_kept_stay_in_16_bits() -> None:
    shape = shape_of(LLAMA | {"quantization_config": W4A16})
    stored = {weight.kind: weight.stored_bytes / weight.values for weight in shape.weights}
    assert stored["feed-forward"] == 2
    assert stored["attention"] == 0.5 + 2 / 128
    assert stored["head"] == 2


def test_experts_alone_may_be_quantised() -> None:
    # As gpt-oss is published: experts in mxfp4, all else in bfloat16.
    config = {
        "model_type": "gpt_oss", "num_hidden_layers": 2, "hidden_size": 128,
        "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 32, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 500,
        "quantization_config": {
            "quant_method": "mxfp4",
            "modules_to_not_convert": [
                "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens",
                "lm_head",
            ],
        },
    }  # fmt: skip
    stored = {each.kind: each.stored_bytes / each.values for each in shape_of(config).weights}
    assert stored.pop("experts") == 4.25 / 8
    assert set(stored.values()) == {2.0}


def test_a_requested_format_goes_before_the_configurations() -> None:
    shape = shape_of(LLAMA | {"quantization_config": AWQ}, dtype="float16")
    assert shape.weight_bytes == 2 * shape.parameters
    assert shape.activations == "float16"
    # Formats of llama.cpp store everything.
    shape = shape_of(LLAMA, dtype="q4_0")
    assert shape.weight_bytes == pytest.approx(shape.parameters * 18 / 32, rel=1e-12)


def test_requested_int8_leaves_embedding_and_head_in_16_bits() -> None:
    shape = shape_of(LLAMA, dtype="int8")
    assert shape.weight_bytes == pytest.approx(
        LAYERS * (1 + 2 / 4096) + 2 * (MATRICES + NORMS), rel=1e-12
    )
    assert {weight.computed_in for weight in shape.weights} == {"bfloat16"}


def test_activations_can_be_narrower_than_16_bits() -> None:
    shape = shape_of(LLAMA, dtype="fp8", activations="fp8")
    computed = {weight.kind: weight.computed_in for weight in shape.weights}
    assert computed["feed-forward"] == "fp8"
    assert computed["head"] == "bfloat16"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, r"config.json has no torch_dtype \(nor dtype\): name the number format \(`dtype`\)"),
        ({"dtype": "int3"}, r"dtype in config.json must be one of .*, got int3"),
        ({"quantization_config": {"quant_method": "quip"}}, "must be of a method .*, got quip"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 3}}, "4 or 8 bits, got 3"),
        ({"quantization_config": {"quant_method": "compressed-tensors"}}, "have config_groups"),
    ],
)
def test_formats_that_are_not_covered_are_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        storage(config)
