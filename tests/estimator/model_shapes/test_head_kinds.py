"""Every format of a head: recognised, counted to the last weight, refused by the missing key."""

from functools import cache
from typing import Any

import msgspec
import pytest
from published_heads import HEADS, Published, speculators
from published_targets import GPT_OSS, LLAMA_8B, ONE, QWEN3_8B

from estimator.model_shapes.drafts import draft_of, kind_of
from estimator.model_shapes.head_kind import head_kind, head_kinds, prior_of
from estimator.model_shapes.shape import shape_of
from simulator.cost.fitted.prior import DRAFTS
from simulator.cost.roofline.deployment import Deployment, roofline_cost
from simulator.cost.roofline.hardware import find_hardware
from simulator.cost.roofline.shapes import DraftKind, DraftShape, ModelShape

DSPARK = next(head for head in HEADS if head.name == "DSpark")
MTP = LLAMA_8B | {"num_hidden_layers": 2}


@cache
def _shape(config: bytes) -> ModelShape:
    return shape_of(msgspec.json.decode(config))


def counted(config: dict[str, Any], target: dict[str, Any]) -> DraftShape:
    shape = _shape(msgspec.json.encode(target, order="sorted"))
    return draft_of(config, target=target, target_shape=shape)


@pytest.mark.parametrize("head", HEADS, ids=[head.name for head in HEADS])
def test_a_published_head_is_counted_to_its_last_weight(head: Published) -> None:
    draft = counted(head.config, head.target)
    assert (draft.kind, draft.held_bytes) == (head.kind, 2 * head.weights)
    assert (draft.parallel, draft.longest) == (head.parallel, head.longest)
    assert draft.stated_gamma == head.gamma


@pytest.mark.parametrize("head", [head for head in HEADS if head.card], ids=lambda head: head.name)
def test_the_size_is_that_which_the_publisher_says(head: Published) -> None:
    assert head.card is not None
    digits = len(str(head.card).partition(".")[2])
    assert round(head.weights / 1e9, digits) == head.card


def test_every_kind_of_head_is_in_the_table() -> None:
    named = {head.kind for head in HEADS} | {"Medusa", "MTP"}
    assert named == {kind.name for kind in head_kinds()}
    assert {"model", *named} == set(DraftKind.__args__)  # type: ignore[attr-defined]


def test_every_kind_of_draft_has_a_class_in_the_prior() -> None:
    kinds = DraftKind.__args__  # type: ignore[attr-defined]
    assert {prior_of(kind) for kind in kinds} <= set(DRAFTS)
    assert [prior_of(kind) for kind in ("model", "EAGLE-3", "MTP")] == ["model", "EAGLE", "MTP"]


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
    target = _shape(msgspec.json.encode(MTP, order="sorted"))
    described = MTP | {"architectures": ["SomeMTPModel"]} | keys
    # A model of a text part would be counted by it.
    counting = {k: v for k, v in described.items() if k != "text_config"} | {
        "num_mtp_layers": layers
    }
    draft = draft_of(counting, target=MTP, target_shape=target)
    assert kind_of(described, target=MTP) == head_kind("MTP")
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


def test_what_tokens_take_in_turn_adds_to_a_blocks_time() -> None:
    target = _shape(msgspec.json.encode(QWEN3_8B, order="sorted"))
    plain = draft_of(
        QWEN3_8B | {"architectures": ["DFlashDraftModel"], "block_size": 8,
                    "num_hidden_layers": 5, "dflash_config": {"target_layer_ids": [1] * 5}},
        target=QWEN3_8B, target_shape=target,
    )  # fmt: skip
    spark = draft_of(DSPARK.config, target=QWEN3_8B, target_shape=target)
    gpu = find_hardware("h100")
    one, other = (
        roofline_cost(Deployment(target, draft, gpu), context=100, max_gamma=7).draft_curve
        for draft in (plain, spark)
    )
    # W2 of 151936 × 256 and the confidence head in 16 bits, read for each of seven tokens.
    turn = 2 * (151936 * 256 + 4096 + 256 + 1) / gpu.bandwidth
    for gamma in (1, 7):
        assert other[gamma] - one[gamma] == pytest.approx(gamma * turn, rel=1e-6)


_GEMMA = next(head for head in HEADS if head.kind == "Gemma assistant")


def test_an_assistant_reads_the_targets_caches_and_few_rows_of_its_matrix() -> None:
    step = counted(_GEMMA.config, _GEMMA.target).step
    assert step.cache_bytes_per_token == 0
    assert [(each.kind, each.layers, each.held) for each in step.caches] == [
        ("sliding", 3, False), ("full", 1, False),
    ]  # fmt: skip
    head = next(each for each in step.weights if each.kind == "head")
    assert head.active_values == 262144 * 256 * 32 / 2048


def without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in keys}


_E3 = speculators("eagle3", 3, draft_vocab_size=32000)


@pytest.mark.parametrize(
    ("config", "target", "message"),
    [
        (_E3 | {"speculators_model_type": "hydra"}, LLAMA_8B,
         "speculators_model_type must be one of dflash, dspark, eagle3, mtp, peagle, got hydra"),
        (_E3 | {"speculators_model_type": None}, LLAMA_8B, "must be one of dflash, .*, got None"),
        (_E3 | {"speculators_model_type": ["eagle3"]}, LLAMA_8B, r"must be one .*, got \['eagle3"),
        ({"architectures": ["HydraForCausalLM"], "hydra_num_heads": 4}, LLAMA_8B,
         "config.json must name its architecture, got no model_type"),
        (without(_E3, "transformer_layer_config"), LLAMA_8B,
         "transformer_layer_config in config.json of speculators_model_type eagle3 must .* None"),
        (_E3 | {"transformer_layer_config": {"vocab_size": 9}}, LLAMA_8B,
         "hidden_size in config.json of EAGLE-3 must be an integer of at least 1, got None"),
        (_E3, GPT_OSS, "hidden_size of the draft must be Llama.*'s, 2880, got 4096"),
        (speculators("mtp", 3), LLAMA_8B, "num_nextn_predict_layers in config.json of MTP"),
        (without(DSPARK.config, "block_size"), QWEN3_8B,
         "dflash_config.block_size in config.json of DSpark must be"),
        (DSPARK.config | {"dflash_config": {"markov_rank": 4, "markov_head_type": "lstm"}},
         QWEN3_8B, "markov_head_type in config.json must be one of .*, got lstm"),
        (DSPARK.config | {"dflash_config": {"markov_rank": -1}}, QWEN3_8B,
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
    ],
)  # fmt: skip
def test_a_format_is_refused_by_the_key_that_it_lacks(
    config: dict[str, Any], target: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        counted(config, target)


def test_a_small_model_is_no_head() -> None:
    for small in (ONE | {"hidden_size": 2048}, {"num_hidden_layers": 2}):
        assert kind_of(LLAMA_8B | small, target=LLAMA_8B) is None
