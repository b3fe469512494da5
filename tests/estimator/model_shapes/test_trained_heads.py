"""Heads that draft from hidden states, against the sizes of published ones."""

from typing import Any

import pytest

from estimator.model_shapes.drafts import draft_of, kind_of
from estimator.model_shapes.head_kind import head_kind
from estimator.model_shapes.shape import shape_of
from simulator.cost.roofline.shapes import ModelShape

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
}
# As the SpecForge repository has it for Llama 3.1 8B.
EAGLE3: dict[str, Any] = LLAMA_8B | {
    "architectures": ["LlamaForCausalLMEagle3"],
    "num_hidden_layers": 1,
    "draft_vocab_size": 32000,
}
QWEN3_8B: dict[str, Any] = LLAMA_8B | {
    "model_type": "qwen3",
    "num_hidden_layers": 36,
    "intermediate_size": 12288,
    "head_dim": 128,
    "vocab_size": 151936,
}
DFLASH: dict[str, Any] = QWEN3_8B | {
    "architectures": ["DFlashDraftModel"],
    "num_hidden_layers": 5,
    "block_size": 16,
    "dflash_config": {"mask_token_id": 151669, "target_layer_ids": [1, 9, 17, 25, 33]},
}
MEDUSA = {"medusa_num_heads": 5, "medusa_num_layers": 1, "base_model_name_or_path": "target"}
DEEPSEEK: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "num_hidden_layers": 3,
    "hidden_size": 256,
    "intermediate_size": 512,
    "moe_intermediate_size": 64,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "q_lora_rank": 64,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "vocab_size": 1000,
    "num_nextn_predict_layers": 1,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
}


@pytest.fixture(scope="module")
def llama() -> ModelShape:
    return shape_of(LLAMA_8B)


def test_an_eagle3_head_has_the_published_size(llama: ModelShape) -> None:
    draft = draft_of(EAGLE3, target=LLAMA_8B, target_shape=llama)
    # 850 MB in 16 bits on the hub: 3h to h, attention on 2h, one feed-forward, 32000 tokens.
    weights = 3 * 4096**2 + (8192 * (4096 + 2 * 1024) + 4096**2) + 3 * 4096 * 14336 + 4096 * 32000
    assert draft.kind == "EAGLE-3"
    assert draft.held_bytes == pytest.approx(2 * weights, rel=1e-4)
    assert not draft.parallel
    assert draft.step.values("head") == 4096 * 32000
    assert draft.step.cache_bytes_per_token == 8 * 2 * 128 * 2


def test_the_projection_of_hidden_states_is_needed_once_a_block(llama: ModelShape) -> None:
    draft = draft_of(EAGLE3, target=LLAMA_8B, target_shape=llama)
    assert draft.opening.parameters - draft.step.parameters == 3 * 4096**2


@pytest.mark.parametrize("mark", [{"parallel_drafting": True}, {"ptd_token_id": 128255}])
def test_p_eagle_drafts_all_positions_in_one_pass(llama: ModelShape, mark: dict[str, Any]) -> None:
    draft = draft_of(EAGLE3 | mark, target=LLAMA_8B, target_shape=llama)
    assert (draft.kind, draft.parallel) == ("P-EAGLE", True)


def test_a_dflash_head_borrows_embedding_and_head() -> None:
    target = shape_of(QWEN3_8B)
    draft = draft_of(DFLASH, target=QWEN3_8B, target_shape=target)
    layer = 4096 * (4096 + 1024) * 2 + 3 * 4096 * 12288
    assert (draft.kind, draft.parallel, draft.longest) == ("DFlash", True, 15)
    assert draft.held_bytes == pytest.approx(2 * (5 * layer + 5 * 4096**2), rel=1e-4)
    assert draft.step.values("head") == target.values("head")
    assert draft.step.values("embedding") == 0


def test_medusa_reads_one_head_for_each_token(llama: ModelShape) -> None:
    draft = draft_of(MEDUSA, target=LLAMA_8B, target_shape=llama)
    head = 4096 * 4097 + 4096 * 128256
    assert (draft.kind, draft.longest) == ("Medusa", 5)
    assert draft.step.parameters == head
    assert draft.held_bytes == 5 * 2 * head


def test_the_targets_own_configuration_is_its_multi_token_prediction() -> None:
    target = shape_of(DEEPSEEK)
    draft = draft_of(DEEPSEEK, target=DEEPSEEK, target_shape=target)
    one_more = shape_of(DEEPSEEK | {"num_hidden_layers": 4}).parameters - target.parameters
    assert draft.kind == "MTP"
    assert draft.step.parameters == one_more + 2 * 256 * 256 + 3 * 256
    assert draft.step.values("head") == 256 * 1000
    assert draft.step.caches[0].bytes_per_token == (32 + 8) * 2
    assert any(each.experts == 8 for each in draft.step.weights)


def test_the_size_of_deepseeks_head_is_that_published() -> None:
    # DeepSeek-V3's model card: 14e9 weights of multi-token prediction, a copy of embedding and
    # output matrix (0.93e9 each) among them.
    from transformers import CONFIG_MAPPING

    config = CONFIG_MAPPING["deepseek_v3"]().to_dict() | {
        "num_hidden_layers": 4, "num_nextn_predict_layers": 1, "dtype": "bfloat16",
    }  # fmt: skip
    draft = draft_of(config, target=config, target_shape=shape_of(config))
    assert draft.held_bytes / 2 == pytest.approx(14e9 - 2 * 0.93e9, rel=0.05)


def test_another_configuration_is_a_model(llama: ModelShape) -> None:
    small = LLAMA_8B | {"num_hidden_layers": 2}
    draft = draft_of(small, target=LLAMA_8B, target_shape=llama)
    assert draft.kind == "model"
    assert draft.held_bytes == draft.step.weight_bytes


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (EAGLE3, "EAGLE-3"),
        (DFLASH, "DFlash"),
        (MEDUSA, "Medusa"),
        ({"architectures": ["DeepSeekMTPModel"], "num_nextn_predict_layers": 1}, "MTP"),
        (LLAMA_8B, "model"),
    ],
)
def test_the_kind_is_read_from_the_configuration(config: dict[str, Any], kind: str) -> None:
    assert kind_of(config, target=DEEPSEEK) == head_kind(kind)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (EAGLE3 | {"hidden_size": 5120}, "hidden_size of the draft must be Llama.*'s, 4096"),
        (EAGLE3 | {"target_hidden_size": 8192}, "target_hidden_size of the draft .* got 8192"),
        (DFLASH | {"hidden_size": 2560}, "hidden_size of the draft .* 4096, got 2560"),
        (MEDUSA | {"hidden_size": 5120}, "hidden_size of the draft .* 4096, got 5120"),
        ({"architectures": ["MedusaModel"]}, "Medusa must have medusa_num_heads .* got None"),
        ({k: v for k, v in DFLASH.items() if k != "block_size"}, "block_size in config.json"),
        (LLAMA_8B, "draft-config must differ from the target's, which has no head"),
    ],
)
def test_a_head_of_another_target_is_refused(
    llama: ModelShape, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        draft_of({"dtype": "bfloat16", **config}, target=LLAMA_8B, target_shape=llama)
