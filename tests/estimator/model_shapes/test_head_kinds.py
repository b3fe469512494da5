"""Every format of a head: recognised, counted to the last weight, refused by the missing key."""

import json
from functools import cache
from typing import Any

import pytest
from transformers import CONFIG_MAPPING

from estimator.model_shapes.drafts import draft_of, kind_of
from estimator.model_shapes.head_kind import head_kind, head_kinds, prior_of
from estimator.model_shapes.shape import shape_of
from simulator.cost.fitted.prior import DRAFTS
from simulator.cost.roofline.deployment import Deployment, roofline_cost
from simulator.cost.roofline.hardware import find_hardware
from simulator.cost.roofline.shapes import DraftKind, DraftShape, ModelShape
from tests.estimator.published_heads import (
    GEMMA_E2B,
    GPT_OSS,
    HEADS,
    LLAMA_8B,
    ONE,
    QWEN3_8B,
    Published,
    speculators,
)
from tests.simulator.known_shapes import cache_bytes_of, weights_of

DSPARK, DFLASH, GEMMA = (
    next(head for head in HEADS if head.name == name).config
    for name in ("DSpark", "DFlash", "Gemma assistant")
)
TWO = LLAMA_8B | {"num_hidden_layers": 2}
MEDUSA = {"medusa_num_heads": 5, "medusa_num_layers": 1, "base_model_name_or_path": "target"}
DEEPSEEK: dict[str, Any] = {
    "model_type": "deepseek_v3", "num_hidden_layers": 3, "hidden_size": 256,
    "intermediate_size": 512, "moe_intermediate_size": 64, "n_routed_experts": 8,
    "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
    "first_k_dense_replace": 1, "num_attention_heads": 4, "num_key_value_heads": 4,
    "q_lora_rank": 64, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
    "v_head_dim": 16, "vocab_size": 1000, "num_nextn_predict_layers": 1,
    "tie_word_embeddings": False, "dtype": "bfloat16",
}  # fmt: skip


@cache
def _shape(config: str) -> ModelShape:
    return shape_of(json.loads(config))


def counted(config: dict[str, Any], target: dict[str, Any]) -> DraftShape:
    return draft_of(config, target=target, target_shape=_shape(json.dumps(target)))


def without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in keys}


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_a_published_head_is_counted_to_its_last_weight(head: Published) -> None:
    draft = counted(head.config, head.target)
    assert (draft.kind, draft.held_bytes) == (head.kind, 2 * head.weights)
    assert (draft.parallel, draft.longest) == (head.parallel, head.longest)
    assert draft.stated_gamma == head.gamma
    # A matrix of no weights is a product of which no kernel was timed.
    assert all(each.values > 0 for each in (*draft.step.weights, *draft.once))
    if head.card is not None:
        # As many digits as the publisher says.
        assert round(head.weights / 1e9, len(str(head.card).partition(".")[2])) == head.card


def test_every_kind_of_head_is_in_the_table_and_has_a_class_in_the_prior() -> None:
    named = {head.kind for head in HEADS} | {"Medusa", "MTP"}
    assert named == {kind.name for kind in head_kinds()}
    kinds = DraftKind.__args__  # type: ignore[attr-defined]
    assert {"model", *named} == set(kinds)
    assert {prior_of(kind) for kind in kinds} <= set(DRAFTS)
    assert [prior_of(kind) for kind in ("model", "EAGLE-3", "MTP")] == ["model", "EAGLE", "MTP"]


def test_an_eagle3_head_reads_the_targets_states_once_a_block() -> None:
    draft = counted(LLAMA_8B | ONE | {"draft_vocab_size": 32000}, LLAMA_8B)
    assert draft.opening.parameters - draft.step.parameters == 3 * 4096**2
    assert weights_of(draft.step, "head") == 4096 * 32000
    assert cache_bytes_of(draft.step) == 8 * 2 * 128 * 2


@pytest.mark.parametrize("mark", [{"parallel_drafting": True}, {"ptd_token_id": 128255}])
def test_p_eagle_drafts_all_positions_in_one_pass(mark: dict[str, Any]) -> None:
    draft = counted(LLAMA_8B | ONE | {"draft_vocab_size": 32000} | mark, LLAMA_8B)
    assert (draft.kind, draft.parallel) == ("P-EAGLE", True)


def test_a_dflash_head_borrows_embedding_and_head() -> None:
    step = counted(DFLASH, QWEN3_8B).step
    assert (weights_of(step, "head"), weights_of(step, "embedding")) == (4096 * 151936, 0)


def test_medusa_reads_one_head_for_each_token() -> None:
    draft = counted(MEDUSA, LLAMA_8B)
    head = 4096 * 4097 + 4096 * 128256
    assert (draft.kind, draft.longest) == ("Medusa", 5)
    assert (draft.step.parameters, draft.held_bytes) == (head, 5 * 2 * head)


def test_the_targets_own_configuration_is_its_multi_token_prediction() -> None:
    draft = counted(DEEPSEEK, DEEPSEEK)
    parameters = [shape_of(DEEPSEEK | {"num_hidden_layers": n}).parameters for n in (3, 4)]
    assert draft.kind == "MTP"
    assert draft.step.parameters == parameters[1] - parameters[0] + 2 * 256 * 256 + 3 * 256
    assert weights_of(draft.step, "head") == 256 * 1000
    assert draft.step.caches[0].bytes_per_token == (32 + 8) * 2
    [routed] = draft.step.only("experts")
    # One layer: gate, up and down of each expert.
    assert routed.values == 3 * routed.experts * draft.step.hidden * routed.inner
    assert (routed.experts, routed.inner) == (8, 64)


def test_the_size_of_deepseeks_head_is_that_published() -> None:
    # DeepSeek-V3's model card: 14e9 weights of multi-token prediction, a copy of embedding and
    # output matrix (0.93e9 each) among them.
    config = CONFIG_MAPPING["deepseek_v3"]().to_dict() | {
        "num_hidden_layers": 4, "num_nextn_predict_layers": 1, "dtype": "bfloat16",
    }  # fmt: skip
    assert counted(config, config).held_bytes / 2 == pytest.approx(14e9 - 2 * 0.93e9, rel=0.05)


@pytest.mark.parametrize(
    ("keys", "layers"),
    [
        ({"num_nextn_predict_layers": 1}, 1),
        ({"mtp_num_hidden_layers": 1}, 1),
        ({"num_mtp_modules": 3, "mtp_transformer_layers": 1}, 3),
        ({"mtp_config": {"num_nextn_predict_layers": 2, "local_layer_ids": []}}, 2),
        ({"text_config": {"num_mtp_modules": 7}}, 7),
    ],
)
def test_layers_of_multi_token_prediction_are_read(keys: dict[str, Any], layers: int) -> None:
    described = TWO | {"architectures": ["SomeMTPModel"]} | keys
    assert kind_of(described, target=TWO) == head_kind("MTP")
    # A model of a text part would be counted by it.
    draft = counted(without(described, "text_config") | {"num_mtp_layers": layers}, TWO)
    assert draft.multiple == layers
    assert draft.held_bytes == layers * draft.step.weight_bytes


def test_speculators_mtp_is_one_layer_like_the_targets() -> None:
    config = speculators("mtp", 3, num_nextn_predict_layers=1, transformer_layer_config=QWEN3_8B)
    draft = counted(config, QWEN3_8B)
    layer = 2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 12288 + 2 * 4096 + 2 * 128
    assert draft.held_bytes == 2 * (layer + 2 * 4096**2 + 3 * 4096)
    assert (draft.kind, draft.stated_gamma) == ("MTP", 3)


def test_the_default_method_of_speculators_says_the_gamma() -> None:
    config = speculators("eagle3", 8, draft_vocab_size=32000)
    config["speculators_config"] = {
        "default_proposal_method": "eagle3",
        "proposal_methods": [
            {"proposal_type": "suffix", "speculative_tokens": 8},
            {"proposal_type": "eagle3", "speculative_tokens": 5},
        ],
    }
    assert counted(config, LLAMA_8B).stated_gamma == 5
    # Without a method, the configuration's own key counts.
    own = {"speculators_config": None, "speculative_tokens": 4}
    assert counted(config | own, LLAMA_8B).stated_gamma == 4


def test_sequential_tokens_add_to_a_blocks_time() -> None:
    target, gpu = _shape(json.dumps(QWEN3_8B)), find_hardware("h100")
    one, other = (
        roofline_cost(
            Deployment(target, counted(config, QWEN3_8B), gpu), context=100, max_gamma=7
        ).draft_curve
        for config in (DFLASH, DSPARK)
    )
    # W2 of 151936 × 256 and the confidence head in 16 bits, read for each of seven tokens.
    turn = 2 * (151936 * 256 + 4096 + 256 + 1) / gpu.bandwidth
    for gamma in (1, 7):
        assert other[gamma] - one[gamma] == pytest.approx(gamma * turn, rel=1e-6)


def test_an_assistant_reads_the_targets_caches_and_few_rows_of_its_matrix() -> None:
    step = counted(GEMMA, GEMMA_E2B).step
    assert cache_bytes_of(step) == 0
    assert [(each.kind, each.layers, each.held) for each in step.caches] == [
        ("sliding", 3, False), ("full", 1, False),
    ]  # fmt: skip
    head = next(weight for weight in step.weights if weight.kind == "head")
    assert head.active_values == 262144 * 256 * 32 / 2048


E3 = LLAMA_8B | ONE | {"draft_vocab_size": 32000}
SPEC3 = speculators("eagle3", 3, draft_vocab_size=32000)


@pytest.mark.parametrize(
    ("config", "target", "message"),
    [
        (SPEC3 | {"speculators_model_type": "hydra"}, LLAMA_8B,
         "speculators_model_type must be one of dflash, dspark, eagle3, mtp, peagle, got hydra"),
        (SPEC3 | {"speculators_model_type": None}, LLAMA_8B, "must be one of dflash, .* got None"),
        (SPEC3 | {"speculators_model_type": ["eagle3"]}, LLAMA_8B, r"must be one .* got \['eagle3"),
        ({"architectures": ["HydraForCausalLM"], "hydra_num_heads": 4}, LLAMA_8B,
         "config.json must name its architecture, got no model_type"),
        (without(SPEC3, "transformer_layer_config"), LLAMA_8B,
         "transformer_layer_config in config.json of speculators_model_type eagle3 must .* None"),
        (SPEC3 | {"transformer_layer_config": {"vocab_size": 9}}, LLAMA_8B,
         "hidden_size in config.json of EAGLE-3 must be an integer of at least 1, got None"),
        (SPEC3, GPT_OSS, "hidden_size of the draft must be Llama.*'s, 2880, got 4096"),
        (speculators("mtp", 3), LLAMA_8B, "num_nextn_predict_layers in config.json of MTP"),
        (without(DSPARK, "block_size"), QWEN3_8B,
         "dflash_config.block_size in config.json of DSpark must be"),
        (DSPARK | {"dflash_config": {"markov_rank": 4, "markov_head_type": "lstm"}},
         QWEN3_8B, "markov_head_type in config.json must be one of .*, got lstm"),
        (DSPARK | {"dflash_config": {"markov_rank": -1}}, QWEN3_8B,
         "markov_rank in config.json of DSpark must be at least 0, got -1"),
        (QWEN3_8B | {"architectures": ["DominoDraftModel"], "block_size": 16}, QWEN3_8B,
         "gru_hidden_dim in config.json of Domino must be"),
        ({"model_type": "eagle", "torch_dtype": "float16"}, LLAMA_8B,
         "hidden_size in config.json of EAGLE must be"),
        ({"model_type": "mlp_speculator", "emb_dim": 4096, "n_predict": 3}, LLAMA_8B,
         "vocab_size in config.json of MLP speculator must be"),
        ({"model_type": "mlp_speculator", "emb_dim": 5120}, LLAMA_8B,
         "emb_dim of the draft must be Llama.*'s, 4096, got 5120"),
        ({"model_type": "gemma4_assistant", "dtype": "bfloat16"}, LLAMA_8B,
         "backbone_hidden_size in config.json of Gemma assistant must be"),
        (LLAMA_8B | {"architectures": ["SomeMTP"]}, QWEN3_8B,
         "config.json of MTP must have num_nextn_predict_layers of at least 1, got none"),
        (E3 | {"hidden_size": 5120}, LLAMA_8B, "hidden_size of the draft must be Llama.*'s, 4096"),
        (E3 | {"target_hidden_size": 8192}, LLAMA_8B, "target_hidden_size of the draft .* 8192"),
        (DFLASH | {"hidden_size": 2560}, LLAMA_8B, "hidden_size of the draft .* 4096, got 2560"),
        (MEDUSA | {"hidden_size": 5120}, LLAMA_8B, "hidden_size of the draft .* 4096, got 5120"),
        ({"architectures": ["MedusaModel"]}, LLAMA_8B,
         "Medusa must have medusa_num_heads .* got None"),
        (without(DFLASH, "block_size"), LLAMA_8B, "block_size in config.json"),
        (LLAMA_8B, LLAMA_8B, "draft-config must differ from the target's, which has no head"),
    ],
)  # fmt: skip
def test_a_format_is_refused_by_the_key_that_it_lacks(
    config: dict[str, Any], target: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        counted(config, target)


@pytest.mark.parametrize(
    ("signs", "kind"),
    [
        ({"architectures": ["LlamaForCausalLMEagle3"]}, "EAGLE-3"),
        ({"model_type": "eagle3"}, "EAGLE-3"),
        ({"eagle_config": {}}, "EAGLE-3"),
        ({"model_type": "eagle", "truncated_vocab_size": 9}, "EAGLE"),
        ({"architectures": ["PEagleDraftModel"], "draft_vocab_size": 9}, "P-EAGLE"),
        ({"parallel_drafting": False}, None),
        ({"architectures": ["DFlashDraftModel"]}, "DFlash"),
        ({"dflash_config": {}}, "DFlash"),
        ({"dflash_config": {"projector_type": "dspark"}}, "DSpark"),
        ({"markov_rank": 4}, "DSpark"),
        ({"dflash_config": {"projector_type": "domino"}}, "Domino"),
        ({"model_type": "medusa"}, "Medusa"),
        ({"medusa_num_heads": 4}, "Medusa"),
        ({"architectures": ["MLPSpeculatorPreTrainedModel"]}, "MLP speculator"),
        ({"model_type": "gemma4_unified_assistant"}, "Gemma assistant"),
        ({"pard_token": 3}, "PARD"),
    ],
)
def test_a_kind_is_recognised_by_a_name_a_type_or_a_key(
    signs: dict[str, Any], kind: str | None
) -> None:
    found = kind_of({"model_type": "llama"} | signs, target=LLAMA_8B)
    assert (None if found is None else found.name) == kind


def test_a_small_model_is_no_head() -> None:
    for small in (ONE | {"hidden_size": 2048}, {"num_hidden_layers": 2}):
        assert kind_of(LLAMA_8B | small, target=LLAMA_8B) is None
    draft = counted(TWO, LLAMA_8B)
    assert (draft.kind, draft.held_bytes) == ("model", draft.step.weight_bytes)
