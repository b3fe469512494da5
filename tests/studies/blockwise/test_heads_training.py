"""Training heads: they learn what can be learnt, resume exactly, leave a frozen model as it is."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import llama
from torch import nn
from transformers import LlamaForCausalLM

from reference.training.loop import Schedule, Training
from studies.blockwise.heads import Heads
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

    try:
        train_on_states(
            heads,
            Stopping(),
            Training(
                "heads",
                Schedule(planned, 1e-2, warmup=5),
                folder / "checkpoint.safetensors",
                seed=3,
            ),
            windows=windows,
            states=states,
            positions=64,
        )
    except KilledError:
        return heads
    return heads


def test_heads_learn_what_lies_ahead_and_the_model_stays_as_it_was(tmp_path: Path) -> None:
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
    done = train_jointly(
        heads,
        model,
        Training("both", Schedule(120, 1e-2, warmup=5), tmp_path / "checkpoint.safetensors"),
        windows=windows,
        texts=8,
    )
    assert done.steps == 120
    with torch.no_grad():
        states, logits = states_and_logits(model, windows)
        own = (logits[:, :-1].argmax(dim=-1) == windows[:, 1:]).float().mean()
    assert own > 0.95
    embedding = model.get_output_embeddings()
    assert min(head_accuracy(heads, embedding, windows=windows, states=states)) > 0.95


def test_a_text_shorter_than_the_heads_look_ahead_is_refused() -> None:
    with pytest.raises(
        ValueError,
        match="a training text must have more tokens than there are heads, 4, got 4",
    ):
        windows_of(torch.arange(4), 32, heads=4)
    with pytest.raises(ValueError, match="a window must be longer than there are heads, 4, got 4"):
        windows_of(torch.arange(40), 4, heads=4)
    assert windows_of(torch.arange(5), 32, heads=4).shape == (1, 5)
