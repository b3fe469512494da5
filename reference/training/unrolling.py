"""Trains a head on a frozen target's states as it will draft: several steps from each position.

    L = sum over k of 0.8^k L_k,     L_k: loss of the k-th token drafted from every position

Li et al. 2025 (EAGLE-3), section 3.2: "training-time test", with the weights of their code. The
head learns the target's distribution, first by cross-entropy, then by minimising 1 - alpha
(`reference.training.alignment`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor
from transformers import DynamicCache

from reference.models.memory import record_layers
from reference.state_heads.head import StateHead, unrolled
from reference.training.alignment import LOSSES
from reference.training.loop import Trained, Training, muon_and_adamw, train

STEP_WEIGHT = 0.8
# Share of the steps, at the beginning, that minimise the cross-entropy.
CROSS_ENTROPY_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class Windows:
    """Texts of equal length (windows), and a target's hidden states along them, float16.

    ids: shape (windows, length).
    states: the states that a head reads, shape (windows, length, taps · width).
    last: the inputs of the output embedding, shape (windows, length, width).
    """

    ids: Tensor
    states: Tensor
    last: Tensor

    def part(self, windows: slice) -> Self:
        return type(self)(self.ids[windows], self.states[windows], self.last[windows])

    def at(self, chosen: Tensor, output: Any) -> Self:
        """Returns the windows with the indices `chosen`, shape (n,).

        They are on the device of `output`, an output embedding, and have its precision.
        """
        like = output.weight
        states, last = (tensor[chosen].to(like) for tensor in (self.states, self.last))
        return type(self)(self.ids[chosen].to(like.device), states, last)


@torch.no_grad()
def windows_along(
    module: Any, ids: Tensor, taps: Sequence[int | None], *, name: str, texts: int = 8
) -> Windows:
    """Returns windows (ids, shape (windows, length)) with the hidden states of a target, `module`.

    taps: where states are read (`record_layers`). name: of the target. texts: windows per pass.
    """
    recorder = record_layers(module, taps, name=name)
    states, last = [], []
    hook = module.get_output_embeddings().register_forward_pre_hook(
        lambda _, given: last.append(given[0].half().cpu())
    )
    for part in ids.split(texts):
        module(input_ids=part.to(module.device), use_cache=False)
        read = recorder.taken()
        assert read is not None
        states.append(read.half().cpu())
    hook.remove()
    return Windows(ids, torch.cat(states), torch.cat(last))


def losses_ahead(
    head: StateHead, output: Any, windows: Windows, *, steps: int, loss: str
) -> list[Tensor]:
    """Returns each draft step's loss, averaged over drafts that begin at all positions."""
    ids = windows.ids
    begun = ids.shape[1] - steps - 1
    with torch.no_grad():
        laws = output(windows.last).float().softmax(dim=-1)
    states = windows.states[:, :begun]
    states_ahead = unrolled(head, states, ids[:, 1:], DynamicCache(), first=0, steps=steps)
    losses = []
    for step, state in enumerate(states_ahead):
        ahead = laws[:, step + 1 : step + 1 + begun].flatten(0, 1)
        drawn = ids[:, step + 2 : step + 2 + begun].flatten()
        logits = head.logits(state).float().flatten(0, 1)
        losses.append(LOSSES[loss](logits, drawn, ahead.detach))
    return losses


@torch.no_grad()
def acceptance_ahead(head: StateHead, output: Any, windows: Windows, *, steps: int) -> list[float]:
    """Returns alpha, the mean of sum min(p, q), at each draft step along texts."""
    losses = [
        losses_ahead(head, output, windows.at(row, output), steps=steps, loss="tv")
        for row in torch.arange(len(windows.ids)).split(1)
    ]
    return (1 - torch.tensor(losses).mean(dim=0)).tolist()


def train_unrolled(
    head: StateHead,
    output: Any,
    training: Training,
    texts: Sequence[Windows],
    *,
    steps: int,
    positions: int,
) -> Trained:
    """Trains a head in place on windows of texts, with drafts of `steps` tokens.

    positions: approximate number of drafts per training step; one begins at each position.
    """

    def batch(step: int) -> Tensor:
        count, length = texts[step % len(texts)].ids.shape
        generator = torch.Generator().manual_seed(training.seed * 1_000_003 + step)
        return torch.randint(count, (max(positions // length, 1),), generator=generator)

    def loss(chosen: Tensor, step: int) -> Tensor:
        by = "soft" if step < CROSS_ENTROPY_SHARE * training.schedule.steps else "tv"
        windows = texts[step % len(texts)].at(chosen, output)
        losses = losses_ahead(head, output, windows, steps=steps, loss=by)
        return torch.stack([STEP_WEIGHT**ahead * loss for ahead, loss in enumerate(losses)]).sum()

    return train(head, training, batch=batch, loss=loss, optimizers=muon_and_adamw(head))
