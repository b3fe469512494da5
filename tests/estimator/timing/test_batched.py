"""Texts decoded together equal the text of each prompt decoded by itself."""

import random
from typing import Any

import pytest
import torch
import transformers
from pairs import PROMPTS, tiny_llama
from tabular import TabularModel
from tiny_models import drawn
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from estimator.timing.batched import decode_batch, padded
from reference.laws import Sampling, seeded
from reference.models.architectures import CausalModel, EncoderDecoderModel
from reference.models.cached_model import CachedModel
from reference.records import Stopping
from reference.speculative import decode

CPU = torch.device("cpu")
VOCABULARY = 40
NEW_TOKENS = 16
SOURCE = random.Random(0)
LENGTHS = (3, 1, 14, 2, 30)
TEXTS = [[SOURCE.randrange(2, VOCABULARY) for _ in range(length)] for length in LENGTHS]
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
}
T5 = {"vocab_size": VOCABULARY, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2,
      "num_heads": 2, "decoder_start_token_id": 0}  # fmt: skip
MODELS: dict[str, dict[str, Any]] = {
    "Llama": SIZES,
    "Mistral": SIZES | {"sliding_window": 6, "num_key_value_heads": 1},
    "GPT2": {"vocab_size": VOCABULARY, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
    "OPT": SIZES | {"ffn_dim": 24, "word_embed_proj_dim": 16},
    "Bloom": {"vocab_size": VOCABULARY, "hidden_size": 16, "n_layer": 2, "n_head": 2},
    "T5": T5,
}


def tiny(name: str) -> CachedModel:
    """Returns a random model whose layers do something."""
    config = getattr(transformers, f"{name}Config")(
        **MODELS[name],
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
        tie_word_embeddings=False,
    )
    family, adapter = (
        (AutoModelForSeq2SeqLM, EncoderDecoderModel)
        if config.is_encoder_decoder
        else (AutoModelForCausalLM, CausalModel)
    )
    torch.manual_seed(0)
    module = family.from_config(config)
    drawn(module, 0.5)
    model: CachedModel = adapter(module, name)
    return model


def generators() -> list[torch.Generator]:
    return [seeded(CPU, 5, number) for number in range(len(TEXTS))]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("name", MODELS)
def test_texts_of_a_batch_are_those_of_each_prompt_alone(name: str, temperature: float) -> None:
    """Prompts of unlike length, padding among them, a penalty that reads each text, and ends."""
    target = tiny(name)
    sampling = Sampling(temperature=temperature, repetition_penalty=1.2)
    stopping = Stopping(NEW_TOKENS, frozenset(range(4)))
    together = decode_batch(
        target, TEXTS, sampling=sampling, stopping=stopping, generators=generators()
    )
    alone = [
        decode(target, text, sampling=sampling, stopping=stopping, generator=generator).tokens
        for text, generator in zip(TEXTS, generators(), strict=True)
    ]
    assert together == alone
    assert len({token for text in alone for token in text}) > 5


def test_decoders_are_padded_on_the_left_and_encoders_on_the_right() -> None:
    left, right = (padded([[5], [7, 8, 9]], CPU, side=side) for side in ("left", "right"))
    assert [each.tolist() for each in left] == [[[0, 0, 5], [7, 8, 9]], [[0, 0, 1], [1, 1, 1]]]
    assert [each.tolist() for each in right] == [[[5, 0, 0], [7, 8, 9]], [[1, 0, 0], [1, 1, 1]]]


def test_a_table_has_no_batch() -> None:
    with pytest.raises(ValueError, match="a batch needs a transformers model, got table"):
        decode_batch(
            TabularModel(lambda text: [1.0], 1),
            [[0]],
            sampling=Sampling(),
            stopping=Stopping(1),
            generators=[torch.Generator()],
        )


def test_a_prompt_of_a_batch_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"128 positions of tiny, got 126 \+ 3 tokens"):
        decode_batch(
            tiny_llama(seed=0),
            [*PROMPTS, [1] * 126],
            sampling=Sampling(),
            stopping=Stopping(3),
            generators=[torch.Generator() for _ in range(len(PROMPTS) + 1)],
        )
