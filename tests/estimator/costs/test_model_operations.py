"""Operations of a decoded token: the weights that it meets."""

from pathlib import Path
from typing import Any

import pytest
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    MixtralConfig,
    MixtralForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from estimator.costs.operations import c_hat, operations_per_token
from reference.drafters.state_head import StateHeadDrafter
from reference.laws import Sampling
from reference.state_heads.eagle3_folder import load_eagle3
from tests.reference.eagle3_laboratory import WIDTH, random_tensors, safeailabs, written
from tests.reference.test_decoder_architectures import saved_pair

MIXTRAL: dict[str, Any] = {
    "vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 2,
}  # fmt: skip
T5: dict[str, Any] = {
    "vocab_size": 40, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_heads": 2, "num_layers": 2,
    "decoder_start_token_id": 0,
}  # fmt: skip
BART: dict[str, Any] = {
    "vocab_size": 40, "d_model": 16, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
    "max_position_embeddings": 32,
}  # fmt: skip


def mixture(experts: int, chosen: int) -> int:
    config = MixtralConfig(**MIXTRAL, num_local_experts=experts, num_experts_per_tok=chosen)
    return operations_per_token(MixtralForCausalLM(config))


def test_a_token_meets_the_experts_it_is_sent_to() -> None:
    expert = 2 * 2 * 3 * 16 * 24  # of two layers, three matrices each
    router = 2 * 2 * 16  # a row for each expert
    assert mixture(8, 3) - mixture(8, 2) == expert
    assert mixture(9, 2) - mixture(8, 2) == router
    assert mixture(2, 2) - mixture(2, 1) == expert


@pytest.mark.parametrize("tied", [True, False])
def test_a_decoded_token_does_not_meet_the_encoder(tied: bool) -> None:
    def t5(layers: int) -> int:
        settings = T5 | {"num_layers": layers, "num_decoder_layers": 2}
        config = T5Config(**settings, tie_word_embeddings=tied)
        return operations_per_token(T5ForConditionalGeneration(config))

    # Queries and outputs of cross-attention, not the prompt's keys and values; three norms a layer,
    # one at the end; 32 buckets of relative positions are looked up.
    layer = 4 * 16 * 16 + 2 * 16 * 16 + 2 * 16 * 24 + 3 * 16
    assert t5(1) == t5(4) == 2 * (2 * layer + 16 + 40 * 16)


def test_the_encoders_depth_is_no_matter_to_bart() -> None:
    one, five = (
        operations_per_token(BartForConditionalGeneration(BartConfig(**BART, encoder_layers=n)))
        for n in (1, 5)
    )
    assert one == five


@pytest.mark.parametrize("drafted", [20, None])
def test_a_head_is_counted_by_the_weights_of_its_token(drafted: int | None, tmp_path: Path) -> None:
    target, _ = saved_pair("Llama", tmp_path, 0, num_hidden_layers=2)
    vocabulary = target.vocabulary
    tensors = random_tensors(vocabulary=vocabulary, drafted=drafted or vocabulary)
    if drafted is None:
        del tensors["lm_head.weight"]  # the target's is used
    folder = tmp_path / "head"
    taps = {"eagle_aux_hidden_state_layer_ids": [0, 1, 2]}
    written(folder, safeailabs(vocabulary, drafted or vocabulary, **taps), tensors)
    head = load_eagle3(folder, target.module, name="target")
    met = sum(
        tensor.numel()
        for name, tensor in tensors.items()
        if name not in ("embed_tokens.weight", "d2t", "t2d")
    )
    if drafted is None:
        met += vocabulary * WIDTH
    drafter = StateHeadDrafter(target, head, Sampling(0.0), name="eagle3")
    assert c_hat(target.module, drafter) == 2 * met / operations_per_token(target.module)
