"""Heads learn, resume exactly, leave a frozen model as it is, and are read as they were written."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import LlamaForCausalLM

from reference.training.loop import Schedule, Training
from studies.blockwise.heads import Heads, load_heads, model_fingerprint, save_heads
from studies.blockwise.training import (
    head_accuracy,
    heads_loss,
    kept_states,
    states_and_logits,
    tokens_ahead,
    train_jointly,
    train_on_states,
    windows_of,
)
from tests.reference.tiny_models import llama

VOCABULARY, WIDTH, HEADS = 12, 16, 4
# A text in which each token determines all later ones.
CYCLE = torch.arange(960) * 5 % VOCABULARY


def tiny_model() -> LlamaForCausalLM:
    return llama(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=1, eos_token_id=0)


def fresh_heads() -> Heads:
    torch.manual_seed(1)
    return Heads(heads=HEADS, width=WIDTH, hidden=24)


def trained_heads(model: Any, folder: Path, steps: int, planned: int) -> Heads:
    """Returns heads after some steps of a training of so many; it goes on where one stopped."""
    heads = fresh_heads()
    windows = windows_of(CYCLE, 32, heads=HEADS)
    states = kept_states(model, windows, folder / "states")

    class KilledError(Exception):
        pass

    class Stopping(nn.Module):
        """The output embedding, until the machine goes down."""

        calls = 0

        def forward(self, read: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            if self.calls > steps:
                raise KilledError
            logits: torch.Tensor = model.get_output_embeddings()(read)
            return logits

    schedule = Schedule(planned, 1e-2, warmup=5)
    training = Training("heads", schedule, folder / "checkpoint.safetensors", seed=3)
    with suppress(KilledError):
        train_on_states(heads, Stopping(), training, windows=windows, states=states, positions=64)
    return heads


def test_heads_learn_later_tokens_and_the_model_stays_unchanged(tmp_path: Path) -> None:
    model = tiny_model().requires_grad_(False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    windows = windows_of(CYCLE, 32, heads=HEADS)
    states = kept_states(model, windows, tmp_path / "states")
    embedding = model.get_output_embeddings()
    untrained = head_accuracy(fresh_heads(), embedding, windows=windows, states=states)
    heads = trained_heads(model, tmp_path, steps=300, planned=300)
    accuracy = head_accuracy(heads, embedding, windows=windows, states=states)
    assert len(accuracy) == HEADS - 1
    assert max(untrained) < 0.5
    assert min(accuracy) > 0.95
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_training_that_was_killed_ends_as_one_that_was_not(tmp_path: Path) -> None:
    model = tiny_model().requires_grad_(False)
    whole = trained_heads(model, tmp_path / "whole", steps=250, planned=150)
    trained_heads(model, tmp_path / "killed", steps=120, planned=150)
    resumed = trained_heads(model, tmp_path / "killed", steps=250, planned=150)
    for name, value in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], value)


def test_the_loss_is_the_sum_over_heads_of_the_mean_surprise() -> None:
    model, heads = tiny_model(), fresh_heads()
    with torch.no_grad():
        heads.down.normal_()
        windows = windows_of(CYCLE, 20, heads=HEADS)[:3]
        states, logits = states_and_logits(model, windows)
        ahead = tokens_ahead(windows, HEADS)
        embedding = model.get_output_embeddings()
        torch.testing.assert_close(embedding(states), logits)
        expected = torch.zeros(())
        for head in range(2, HEADS + 1):
            read = heads(states.flatten(0, 1))[head - 2].view_as(states)
            surprise = -embedding(read).log_softmax(dim=-1)
            for place in range(20 - HEADS):
                token = windows[:, place + head]
                expected += surprise[torch.arange(3), place, token].mean() / (20 - HEADS)
        loss = heads_loss(
            heads, embedding, states[:, : 20 - HEADS].flatten(0, 1), ahead.flatten(0, 1)
        )
    torch.testing.assert_close(loss, expected)


def test_states_are_kept_and_those_of_another_text_are_refused(tmp_path: Path) -> None:
    model = tiny_model()
    windows = windows_of(CYCLE, 16, heads=HEADS)[:40]
    states = kept_states(model, windows, tmp_path, texts=7)
    with torch.no_grad():
        torch.testing.assert_close(states, states_and_logits(model, windows)[0].half())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.safetensors", "1.safetensors"]
    model.get_output_embeddings().weight.data.zero_()
    assert torch.equal(kept_states(model, windows, tmp_path), states)
    with pytest.raises(ValueError, match="must hold states of this text, got another text's"):
        kept_states(model, windows + 1, tmp_path)


def test_model_and_heads_learn_together(tmp_path: Path) -> None:
    model, heads = tiny_model(), fresh_heads()
    windows = windows_of(CYCLE, 24, heads=HEADS)
    schedule = Schedule(120, 1e-2, warmup=5)
    training = Training("both", schedule, tmp_path / "checkpoint.safetensors")
    done = train_jointly(heads, model, training, windows=windows, texts=8)
    assert done.steps == 120
    with torch.no_grad():
        states, logits = states_and_logits(model, windows)
        own = (logits[:, :-1].argmax(dim=-1) == windows[:, 1:]).float().mean()
    assert own > 0.95
    embedding = model.get_output_embeddings()
    assert min(head_accuracy(heads, embedding, windows=windows, states=states)) > 0.95


def test_a_text_shorter_than_the_heads_look_ahead_is_refused() -> None:
    with pytest.raises(ValueError, match=r"text must have more tokens than .* heads, 4, got 4"):
        windows_of(torch.arange(4), 32, heads=4)
    with pytest.raises(ValueError, match=r"a window must be longer than .* heads, 4, got 4"):
        windows_of(torch.arange(40), 4, heads=4)
    assert windows_of(torch.arange(5), 32, heads=4).shape == (1, 5)


def tiny(seed: int, width: int = 16) -> LlamaForCausalLM:
    return llama(seed, hidden_size=width, num_hidden_layers=1, eos_token_id=0)


def saved(folder: Path, module: LlamaForCausalLM) -> Heads:
    heads = Heads(heads=4, width=16, hidden=8)
    with torch.no_grad():
        heads.down.normal_()
    save_heads(folder, heads, module, {"model": "tiny"})
    return heads


def test_heads_are_read_as_they_were_written(tmp_path: Path) -> None:
    module = tiny(0)
    heads = saved(tmp_path / "heads", module)
    read = load_heads(tmp_path / "heads", module, name="tiny")
    for name, value in heads.state_dict().items():
        assert torch.equal(read.state_dict()[name], value.half().float())
    assert (tmp_path / "heads" / "heads.safetensors").stat().st_size < 3 * 2 * 16 * 8 * 2 + 1000


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_heads_fit_their_model_in_another_precision(dtype: torch.dtype, tmp_path: Path) -> None:
    saved(tmp_path, tiny(0))
    heads = load_heads(tmp_path, tiny(0).to(dtype), name="tiny")
    assert heads.up.dtype == dtype


def test_a_model_trained_further_has_another_fingerprint() -> None:
    module = tiny(0)
    before = model_fingerprint(module)
    with torch.no_grad():
        module.lm_head.weight.add_(1e-3 * torch.randn_like(module.lm_head.weight))
    assert model_fingerprint(module) != before


@pytest.mark.parametrize(
    ("seed", "width", "message"),
    [
        (1, 16, "trained on the states of big, got heads of a model with other weights (tiny)"),
        (0, 32, "must be as wide as the states of big, 32, got 16"),
    ],
)
def test_heads_of_another_model_are_refused(
    seed: int, width: int, message: str, tmp_path: Path
) -> None:
    saved(tmp_path, tiny(0))
    with pytest.raises(ValueError, match=re.escape(message)):
        load_heads(tmp_path, tiny(seed, width), name="big")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("heads.json", None, "must be a folder that specplan heads train wrote"),
        ("heads.json", "{", "must be JSON"),
        ("heads.json", "[]", "must describe blockwise heads"),
        ("heads.json", '{"format": "specplan blockwise heads 1"}', "must describe blockwise heads"),
        ("heads.safetensors", "nothing", "must hold the weights of heads"),
    ],
)
def test_damaged_heads_are_refused(
    file: str, content: str | None, message: str, tmp_path: Path
) -> None:
    saved(tmp_path, tiny(0))
    (tmp_path / file).unlink()
    if content is not None:
        (tmp_path / file).write_text(content)
    with pytest.raises(ValueError, match=message):
        load_heads(tmp_path, tiny(0), name="tiny")


def test_weights_of_another_number_of_heads_are_refused(tmp_path: Path) -> None:
    saved(tmp_path, tiny(0))
    description = json.loads((tmp_path / "heads.json").read_text())
    (tmp_path / "heads.json").write_text(json.dumps(description | {"heads": 7}))
    with pytest.raises(ValueError, match="must hold the weights of heads"):
        load_heads(tmp_path, tiny(0), name="tiny")
