"""Caches that roll back exactly, sliding windows among them, and models that cannot."""

from pathlib import Path
from typing import Any

import pytest
import torch
from decoding import speculate
from tiny_models import drawn
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    RecurrentGemmaConfig,
    RecurrentGemmaForCausalLM,
    RwkvConfig,
    RwkvForCausalLM,
    XLNetConfig,
    XLNetLMHeadModel,
)

from reference.drafters.hierarchical import HierarchicalDrafter
from reference.drafters.model_drafter import ModelDrafter
from reference.drafters.random_drafter import RandomDrafter
from reference.laws import Sampling
from reference.models.causal_model import CausalModel
from reference.models.huggingface import load_model
from reference.policies import Fixed
from reference.speculative import Subject, speculative_session
from reference.stopping import Stopping

WINDOW = 6
PROMPT = [7, 3, 11, 2, 19, 5, 4, 12, 30]
SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 128,
    "eos_token_id": None,
    "pad_token_id": 0,
}
GEMMA = SIZES | {"head_dim": 8, "sliding_window": WINDOW}
LAYERS = ["sliding_attention", "full_attention", "sliding_attention"]
WINDOWED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "mistral": (MistralForCausalLM, MistralConfig, SIZES | {"sliding_window": WINDOW}),
    "gemma2": (Gemma2ForCausalLM, Gemma2Config, GEMMA | {"layer_types": LAYERS}),
    "gemma3_text": (Gemma3ForCausalLM, Gemma3TextConfig, GEMMA | {"layer_types": LAYERS}),
}
RECURRENT: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "mamba": (MambaForCausalLM, MambaConfig, {"hidden_size": 16, "num_hidden_layers": 1}),
    "rwkv": (RwkvForCausalLM, RwkvConfig, {"hidden_size": 16, "num_hidden_layers": 2}),
    "recurrent_gemma": (
        RecurrentGemmaForCausalLM,
        RecurrentGemmaConfig,
        {
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_hidden_layers": 3,
            "num_attention_heads": 2,
            "lru_width": 16,
        },
    ),
    "xlnet": (XLNetLMHeadModel, XLNetConfig, {"d_model": 16, "n_layer": 1, "n_head": 2}),
}


def tiny(name: str, seed: int = 1) -> CausalModel:
    """Returns a random model whose layers do something."""
    model_class, config_class, sizes = WINDOWED[name]
    torch.manual_seed(seed)
    module = model_class(config_class(**sizes))
    drawn(module, 0.3)
    return CausalModel(module, name)


def greedy(target: CausalModel, tokens: int) -> list[int]:
    """Returns what transformers generates after PROMPT."""
    ids = torch.tensor([PROMPT])
    output = target.module.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=tokens
    )
    return output[0, len(PROMPT) :].tolist()


@pytest.mark.parametrize("gamma", [1, 3, 7])
@pytest.mark.parametrize("name", WINDOWED)
def test_greedy_text_beyond_the_window_is_that_of_generate(name: str, gamma: int) -> None:
    target = tiny(name)
    draft = tiny(name)
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in draft.module.parameters():
            parameter.add_(0.1 * parameter.std() * torch.randn_like(parameter))
    sampling = Sampling(0.0)
    generation = speculate(
        target,
        ModelDrafter(draft, sampling, target.vocabulary),
        PROMPT,
        sampling,
        Fixed(gamma),
        Stopping(4 * WINDOW),
    )
    assert list(generation.tokens) == greedy(target, 4 * WINDOW)
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
        speculative_session(
            Subject(target, each, sampling, Stopping(30)), PROMPT, Fixed(5), torch.Generator()
        ).finished()
        for each in (drafter, drafter.model)
    )
    assert list(generation.tokens) == greedy(target, 30)
    assert [block.drafted for block in generation.blocks] == [
        block.drafted for block in plain.blocks
    ]


@pytest.mark.parametrize("name", RECURRENT)
def test_a_model_that_cannot_roll_back_is_refused_by_name(name: str, tmp_path: Path) -> None:
    model_class, config_class, sizes = RECURRENT[name]
    model_class(config_class(vocab_size=40, **sizes)).save_pretrained(tmp_path)
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
