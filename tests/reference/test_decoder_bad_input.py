"""Bad input and broken models: one error each, with the name, the rule and the value."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from transformers import OpenAIGPTConfig, OpenAIGPTLMHeadModel

from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.models.huggingface import load_model, require_same_tokenizer, resolve_device
from reference.policies import Fixed
from reference.records import Generation, Stopping
from tests.reference.decoding import alone, speculate_models
from tests.reference.plain_laws import random_table
from tests.reference.tabular import TabularModel
from tests.reference.tiny_models import llama

VOCABULARY = 4
CPU = torch.device("cpu")
TABLE = random_table(0, VOCABULARY)


class Broken(TabularModel):
    """A table whose logits after the text's first so many tokens are not numbers."""

    def __init__(self, name: str, position: int, logit: float) -> None:
        super().__init__(TABLE, VOCABULARY, name)
        self.position = position
        self.logit = logit

    def extend(self, tokens: torch.Tensor, parents: Sequence[int] | None = None) -> torch.Tensor:
        logits = super().extend(tokens, parents)
        row = self.position - 1 - (self.length - len(tokens))
        if 0 <= row < len(tokens):
            logits[row, 2 if self.logit > 0 or math.isnan(self.logit) else slice(None)] = self.logit
        return logits


def sound(name: str) -> TabularModel:
    return TabularModel(TABLE, VOCABULARY, name)


def run(target: TabularModel, draft: TabularModel, sampling: Sampling) -> Generation:
    return speculate_models(target, draft, [1, 2, 3], sampling, Fixed(4), Stopping(12), seed=0)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("logit", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("position", [3, 4, 6, 9, 14])
def test_logits_that_are_no_numbers_stop_the_run_and_name_model_and_position(
    position: int, logit: float, temperature: float
) -> None:
    sampling = Sampling(temperature)
    message = f"returned NaN or infinite logits at position {position}"
    broken = Broken("big", position, logit)
    with pytest.raises(FloatingPointError, match=f"^big {message}$"):
        run(broken, sound("small"), sampling)
    generator = torch.Generator().manual_seed(0)
    with pytest.raises(FloatingPointError, match=f"^big {message}$"):
        alone(broken, [1, 2, 3], sampling, Stopping(12), generator=generator)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("logit", [math.nan, math.inf, -math.inf])
def test_a_draft_whose_logits_are_no_numbers_is_named(logit: float, temperature: float) -> None:
    sampling = Sampling(temperature)
    for position in (3, 5, 6):
        draft = Broken("small", position, logit)
        message = f"^small returned NaN or infinite logits at position {position}$"
        with pytest.raises(FloatingPointError, match=message):
            run(sound("big"), draft, sampling)


def test_impossible_tokens_are_no_error() -> None:
    table = random_table(1, VOCABULARY, zeros=3)
    target, draft = TabularModel(table, VOCABULARY), TabularModel(table, VOCABULARY)
    assert len(run(target, draft, Sampling()).tokens) == 12


def tiny(positions: int = 16) -> CausalModel:
    sizes = {"vocab_size": 20, "num_hidden_layers": 1, "max_position_embeddings": positions}
    return CausalModel(llama(**sizes), "tiny")


def decode_tiny(prompt: Sequence[int], new_tokens: int) -> Generation:
    return alone(tiny(), prompt, Sampling(0.0), Stopping(new_tokens))


def test_an_empty_prompt_is_refused() -> None:
    def decode_table() -> Generation:
        return alone(sound("table"), [], Sampling(), Stopping(3))

    for decoding in (lambda: decode_tiny([], 3), lambda: tiny().start([]), decode_table):
        with pytest.raises(ValueError, match=r"^a prompt must have at least one token, got none$"):
            decoding()


def test_a_prompt_and_new_tokens_beyond_the_positions_are_refused() -> None:
    message = "prompt and new tokens must fit the 16 positions of tiny, got 10 + 7 tokens"
    with pytest.raises(ValueError, match=re.escape(message)):
        decode_tiny([1] * 10, 7)
    assert len(decode_tiny([1] * 10, 6).tokens) == 6


@pytest.mark.parametrize(
    ("target_positions", "draft_positions", "message"),
    [
        (16, 32, "prompt and new tokens must fit the 16 positions of tiny, got 12 + 5 tokens"),
        (10, 32, "a prompt must fit the 10 positions of tiny, got 12 tokens"),
        (32, 10, "a prompt must fit the 10 positions of tiny, got 12 tokens"),
    ],
)
def test_prompts_that_do_not_fit_are_refused_before_any_pass(
    target_positions: int, draft_positions: int, message: str
) -> None:
    target, draft = tiny(target_positions), tiny(draft_positions)
    with pytest.raises(ValueError, match=re.escape(message)):
        speculate_models(target, draft, [1] * 12, Sampling(0.0), Fixed(2), Stopping(5))
    assert target.forward_seconds == draft.forward_seconds == 0


def test_a_text_up_to_the_last_position_is_drafted_without_passing_it() -> None:
    target, draft = tiny(), tiny()
    for gamma in (1, 3, 7):
        found = speculate_models(target, draft, [1, 2], Sampling(0.0), Fixed(gamma), Stopping(14))
        assert len(found.tokens) == 14


def test_a_folder_without_weights_is_refused_by_name(tmp_path: Path) -> None:
    tiny().module.config.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=re.escape(f"model {str(tmp_path)!r} could not be loaded")):
        load_model(str(tmp_path), device=CPU)


def test_a_model_without_a_cache_is_refused_by_name() -> None:
    """It would read each block's tokens as a text of their own, and nobody would see an error."""
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 1}
    module = OpenAIGPTLMHeadModel(OpenAIGPTConfig(vocab_size=20, n_positions=16, **sizes))
    message = r"gpt-1 \(openai-gpt\) keeps no cache of keys and values, which decoding needs"
    with pytest.raises(ValueError, match=message):
        CausalModel(module, "gpt-1")


def test_weights_other_than_safetensors_are_not_loaded(tmp_path: Path) -> None:
    """They are pickles, which run code."""
    module = tiny().module
    module.config.save_pretrained(tmp_path)
    torch.save(module.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"could not be loaded: .*safetensors"):
        load_model(str(tmp_path), device=CPU)


class Tokenizer:
    """As much of a tokenizer as a comparison reads."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = tokens

    def __len__(self) -> int:
        return len(self.tokens)

    def get_vocab(self) -> dict[str, int]:
        return {token: index for index, token in enumerate(self.tokens)}


def test_differing_tokenizers_are_refused_by_name() -> None:
    def compare(target: Tokenizer, draft: Tokenizer) -> None:
        require_same_tokenizer(target, draft, target_name="big", draft_name="small")

    compare(Tokenizer("a", "b"), Tokenizer("a", "b"))
    for draft in (Tokenizer("b", "a"), Tokenizer("a", "b", "c")):
        message = (
            "target and draft must share one tokenizer, got big with 2 tokens and small with "
            f"{len(draft)}"
        )
        with pytest.raises(ValueError, match=message):
            compare(Tokenizer("a", "b"), draft)


def test_cuda_without_a_cuda_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="got cuda without a CUDA device"):
        resolve_device("cuda")
    assert resolve_device("auto") == resolve_device("cpu") == CPU
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == torch.device("cuda")
