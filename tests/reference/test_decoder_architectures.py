"""Greedy output in float32 is transformers' own, token for token, for every architecture."""

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM

from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.models.cached_model import CachedModel
from reference.models.huggingface import load_model
from reference.policies import Fixed
from reference.records import Stopping
from tests.reference.decoding import alone, speculate
from tests.reference.tiny_models import drawn, with_noise

CPU = torch.device("cpu")
GREEDY = Sampling(0.0)
VOCABULARY = 50
NEW_TOKENS = 22
GAMMAS = (1, 3, 7)
# By the prompt's length.
TRIED = {1: (1, 7), 60: (3, 7)}
WINDOW = 9

SIZES = {
    "vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1,
    "num_attention_heads": 2, "max_position_embeddings": 96,
}  # fmt: skip
GROUPED = SIZES | {"num_key_value_heads": 1}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Llama": GROUPED,
    "Mistral": GROUPED | {"sliding_window": WINDOW},
    "Qwen2": GROUPED,
    "Qwen3": GROUPED | {"head_dim": 8},
    "Gemma": GROUPED | {"head_dim": 8},
    # Every other layer has the window.
    "Gemma2": GROUPED | {"head_dim": 8, "sliding_window": WINDOW, "num_hidden_layers": 2},
    "Phi": SIZES,
    "GPTNeoX": SIZES,
    "Falcon": SIZES,
    "Bloom": {"vocab_size": VOCABULARY, "hidden_size": 16, "n_layer": 1, "n_head": 2},
    "OPT": SIZES | {"ffn_dim": 24, "word_embed_proj_dim": 16},
    "GPT2": {"vocab_size": VOCABULARY, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 96},
}


def saved_pair(
    architecture: str, folder: Path, seed: int, **others: int
) -> tuple[CachedModel, CachedModel]:
    """Returns a random model, saved in the folder and loaded again, and one close to it."""
    ids = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
    sizes = ARCHITECTURES[architecture] | ids | {"tie_word_embeddings": False} | others
    config = getattr(transformers, f"{architecture}Config")(**sizes)
    torch.manual_seed(seed)
    module = drawn(AutoModelForCausalLM.from_config(config), 0.5)
    module.save_pretrained(folder / "target")
    target = load_model(str(folder / "target"), device=CPU)
    return target, CausalModel(with_noise(module, 0.02), "draft")


def generated(
    target: CachedModel, prompt: list[int], end: int | list[int] | None = None
) -> tuple[int, ...]:
    """Returns the greedy continuation of transformers' own `generate`."""
    ids = torch.tensor([prompt])
    output = target.module.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=NEW_TOKENS,
        pad_token_id=0, eos_token_id=end,
    )  # fmt: skip
    return tuple(output[0, len(prompt) :].tolist())


def random_prompt(length: int, seed: int) -> list[int]:
    source = random.Random(repr((length, seed)))
    return [source.randrange(VOCABULARY) for _ in range(length)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_greedy_output_is_that_of_generate(architecture: str, tmp_path: Path) -> None:
    target, draft = saved_pair(architecture, tmp_path, 0)
    drafter = ModelDrafter(draft, GREEDY, target.vocabulary)
    stopping = Stopping(NEW_TOKENS)
    drafted = accepted = 0
    seen: set[int] = set()
    for length, gammas in TRIED.items():
        prompt = random_prompt(length, 0)
        expected = generated(target, prompt)
        seen.update(expected)
        assert alone(target, prompt, GREEDY, stopping).tokens == expected
        for gamma in gammas:
            generation = speculate(target, drafter, prompt, GREEDY, Fixed(gamma), stopping)
            assert generation.tokens == expected
            drafted += generation.drafted
            accepted += generation.accepted
    # Neither a text of one token nor a draft that is always right or wrong would show a thing.
    assert len(seen) > 2
    assert 0.1 < accepted / drafted < 0.98


def test_text_ends_at_every_position_of_a_block_as_generate_ends_it(tmp_path: Path) -> None:
    target, draft = saved_pair("Llama", tmp_path, 0, num_hidden_layers=2)
    # One is wrong now and then; the other is always right, so that long blocks are accepted whole.
    drafters = [
        ModelDrafter(model, GREEDY, target.vocabulary)
        for model in (draft, load_model(str(tmp_path / "target"), device=CPU))
    ]
    prompt = random_prompt(11, 3)
    whole = generated(target, prompt)
    places: dict[int, set[int]] = {gamma: set() for gamma in GAMMAS}
    every = {gamma: set(range(1, gamma + 2)) for gamma in GAMMAS}
    for end in dict.fromkeys(whole):
        if places == every:
            break
        expected = generated(target, prompt, [VOCABULARY - 1, end])
        assert expected == whole[: len(expected)]
        assert expected[-1] == end
        stopping = Stopping(NEW_TOKENS, frozenset({VOCABULARY - 1, end}))
        for drafter, gamma in itertools.product(drafters, GAMMAS):
            generation = speculate(target, drafter, prompt, GREEDY, Fixed(gamma), stopping)
            assert generation.tokens == expected
            assert generation.ending == "end of text"
            last = generation.blocks[-1]
            assert last.accepted <= len(last.tokens)
            places[gamma].add(len(last.tokens))
    assert places == every
