"""Caches that roll back exactly, sliding windows among them, and models that cannot."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import DynamicLayer

from reference.drafters.model_drafter import HierarchicalDrafter, ModelDrafter, RandomDrafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.models.huggingface import load_model
from reference.models.memory import GROWTH, RoomyLayer
from reference.models.model import FittedModel
from reference.policies import Fixed
from reference.records import Stopping
from tests.reference.decoding import speculate, speculate_models
from tests.reference.test_decoder_architectures import ARCHITECTURES, random_prompt, saved_pair
from tests.reference.tiny_models import drawn

WINDOW = 6
PROMPT = [7, 3, 11, 2, 19, 5, 4, 12, 30]
SIZES = {
    "vocab_size": 40, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 128,
    "eos_token_id": None, "pad_token_id": 0,
}  # fmt: skip
LAYERS = ["sliding_attention", "full_attention"]
GEMMA = SIZES | {"head_dim": 8, "sliding_window": WINDOW, "layer_types": LAYERS}
WINDOWED: dict[str, dict[str, Any]] = {
    "mistral": SIZES | {"sliding_window": WINDOW},
    "gemma2": GEMMA,
    "gemma3_text": GEMMA,
}
RECURRENT: dict[str, dict[str, Any]] = {
    "mamba": {"hidden_size": 16, "num_hidden_layers": 1},
    "rwkv": {"hidden_size": 16, "num_hidden_layers": 2},
    "recurrent_gemma": {
        "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 3,
        "num_attention_heads": 2, "lru_width": 16,
    },
    "xlnet": {"d_model": 16, "n_layer": 1, "n_head": 2},
}  # fmt: skip


def tiny(name: str, seed: int = 1) -> CausalModel:
    """Returns a random model whose layers do something."""
    torch.manual_seed(seed)
    module = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **WINDOWED[name]))
    return CausalModel(drawn(module, 0.3), name)


def greedy(target: CausalModel, tokens: int) -> list[int]:
    """Returns what transformers generates after PROMPT."""
    ids = torch.tensor([PROMPT])
    output = target.module.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=tokens
    )
    return output[0, len(PROMPT) :].tolist()


@pytest.mark.parametrize("name", WINDOWED)
def test_greedy_text_beyond_the_window_is_that_of_generate(name: str) -> None:
    target = tiny(name)
    draft = tiny(name)
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in draft.module.parameters():
            parameter.add_(0.1 * parameter.std() * torch.randn_like(parameter))
    sampling = Sampling(0.0)
    stopping = Stopping(4 * WINDOW)
    expected = greedy(target, 4 * WINDOW)
    for gamma in (1, 7):
        generation = speculate_models(target, draft, PROMPT, sampling, Fixed(gamma), stopping)
        assert list(generation.tokens) == expected
        assert generation.accepted > 0


@pytest.mark.parametrize("name", WINDOWED)
def test_a_rollback_far_behind_the_window_is_exact(name: str) -> None:
    """Several times in a row, as a drafted draft does it."""
    model = tiny(name)
    model.start(PROMPT)
    for token in range(20, 30):
        model.extend(torch.tensor([PROMPT[-1] if token == 20 else token]))
    model.rollback(15)
    model.rollback(12)
    model.rollback(4)
    tokens = torch.arange(1, 15)
    logits = model.extend(tokens)
    whole = model.module(torch.tensor([[*PROMPT[:4], *tokens.tolist()]]), use_cache=False).logits
    torch.testing.assert_close(logits, whole[0, 4:], atol=1e-4, rtol=1e-4)


def test_a_drafted_draft_with_a_window_stays_exact() -> None:
    target, draft = tiny("mistral"), tiny("mistral", seed=2)
    sampling = Sampling(0.0)
    drafter = HierarchicalDrafter(
        ModelDrafter(draft, sampling, target.vocabulary),
        RandomDrafter(target.vocabulary, target.device),
        1,
    )
    generation, plain = (
        speculate(target, each, PROMPT, sampling, Fixed(5), Stopping(30))
        for each in (drafter, drafter.model)
    )
    assert list(generation.tokens) == greedy(target, 30)
    for one, other in zip(generation.blocks, plain.blocks, strict=True):
        assert one.drafted == other.drafted


@pytest.mark.parametrize("name", RECURRENT)
def test_a_model_that_cannot_roll_back_is_refused_by_name(name: str, tmp_path: Path) -> None:
    config = AutoConfig.for_model(name, vocab_size=40, **RECURRENT[name])
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    message = rf"the cache of {tmp_path} \({name}\) cannot be rolled back"
    with pytest.raises(ValueError, match=message):
        load_model(str(tmp_path), device=torch.device("cpu"))


@pytest.mark.parametrize("length", [-1, 4])
def test_a_rollback_to_a_length_that_never_was_is_refused(length: int) -> None:
    model = CausalModel(LlamaForCausalLM(LlamaConfig(**SIZES)), "llama")
    model.start([1, 2, 3, 4])
    with pytest.raises(ValueError, match=rf"length must lie in \[0, 3\], got {length}"):
        model.rollback(length)


def test_a_rollback_of_nothing_keeps_everything_and_one_to_zero_nothing() -> None:
    model = CausalModel(LlamaForCausalLM(LlamaConfig(**SIZES)), "llama")
    model.start([1, 2, 3, 4])
    after = model.extend(torch.tensor([4, 5]))
    model.rollback(5)
    model.rollback(3)
    torch.testing.assert_close(model.extend(torch.tensor([4, 5])), after)
    model.rollback(0)
    torch.testing.assert_close(
        model.extend(torch.tensor([1, 2, 3, 4, 5]))[-2:], after, atol=1e-5, rtol=1e-5
    )


def states(tokens: int) -> tuple[Tensor, Tensor]:
    """Returns keys and values, which need not be equally wide."""
    return torch.randn(1, 2, tokens, 3), torch.randn(1, 2, tokens, 5)


def test_steps_and_rollbacks_equal_a_growing_layer() -> None:
    chance = random.Random(0)
    torch.manual_seed(0)
    own, theirs = RoomyLayer(), DynamicLayer()
    for step in range(300):
        keys, values = states(chance.choice((1, 1, 2, 5, GROWTH // 2 if step % 30 == 0 else 3)))
        for held, expected in zip(
            own.update(keys, values), theirs.update(keys, values), strict=True
        ):
            assert torch.equal(held, expected)
        drop = chance.randint(0, min(4, own.get_seq_length()))
        own.crop(-drop)
        theirs.crop(-drop)
        assert own.get_seq_length() == theirs.get_seq_length()
        assert own.get_mask_sizes(3) == theirs.get_mask_sizes(3)
    assert own.get_seq_length() > GROWTH


def test_tensors_stay_where_they_are_until_the_room_is_full() -> None:
    layer = RoomyLayer()
    layer.update(*states(3))
    place = layer.keys.data_ptr()
    for _ in range(GROWTH - 3):
        layer.update(*states(1))
        layer.crop(-1)
        layer.update(*states(1))
    assert (layer.keys.data_ptr(), layer.get_seq_length()) == (place, GROWTH)
    layer.update(*states(1))
    assert layer.keys.shape == (1, 2, 2 * GROWTH, 3)


@pytest.mark.parametrize("empty", [RoomyLayer.reset, lambda layer: layer.crop(-4)])
def test_an_emptied_layer_starts_at_position_0(empty: Callable[[RoomyLayer], None]) -> None:
    layer = RoomyLayer()
    layer.update(*states(4))
    empty(layer)
    assert layer.get_seq_length() == 0
    given = states(2)
    for held, expected in zip(layer.update(*given), given, strict=True):
        assert torch.equal(held, expected)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_position_gives_the_state_that_its_logits_came_of(
    architecture: str, tmp_path: Path
) -> None:
    model, _ = saved_pair(architecture, tmp_path, 0)
    embedding = model.module.get_output_embeddings()
    capped = getattr(model.module.config, "final_logit_softcapping", None)

    def logits_at(position: int) -> torch.Tensor:
        state = model.state(position)
        assert state is not None
        logits = embedding(state)
        return capped * torch.tanh(logits / capped) if capped else logits

    prompt = random_prompt(7, 1)
    model.start(prompt)
    assert model.state(4) is None
    assert model.state(5) is not None
    assert model.state(6) is None
    with torch.inference_mode():
        first = model.extend(torch.tensor([prompt[-1], 3, 4, 5]))
        for offset in range(4):
            torch.testing.assert_close(logits_at(6 + offset), first[offset])
        model.rollback(8)
        assert model.state(8) is None
        second = model.extend(torch.tensor([9, 8]))
        rows = torch.cat([first[:2], second])
        for offset in range(4):
            torch.testing.assert_close(logits_at(6 + offset), rows[offset])
    model.start(prompt[:1])
    assert [model.state(position) for position in range(-1, 3)] == [None] * 4


def test_a_model_seen_through_another_vocabulary_gives_its_own_states(tmp_path: Path) -> None:
    model, _ = saved_pair("Llama", tmp_path, 0)
    model.start([1, 2, 3])
    state = FittedModel(model, 60).state(1)
    assert state is not None
    assert torch.equal(state, model.state(1))
