"""Heads on the target's hidden states: their common part, and all drafts of a text at once.

At position i a head reads a state of token i and the embedding of token i + 1. Its result predicts
token i + 2, and is the state at position i + 1. The first state of a draft is the target's, later
ones are the head's own (Li et al. 2025, EAGLE-3; DeepSeek-AI 2024, section 2.2).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self, cast

import torch
from torch import Tensor, nn
from transformers import Cache, DynamicCache

from reference.models.memory import RoomyLayer
from reference.models.text_tree import hidden_at


class StateHead(nn.Module, ABC):
    """A head that drafts from a target's hidden states; it uses the target's embeddings.

    taps: boundaries of the target's layers whose states the head reads, concatenated
      (`reference.models.memory.record_layers`).
    depth: number of the head's own layers, which cache keys and values.

    Example: `reference.state_heads.mtp.Mtp`, which has one layer.
    """

    taps: tuple[int | None, ...]
    depth: int

    def __init__(self, target: Any) -> None:
        """Makes an untrained head for a `PreTrainedModel`."""
        super().__init__()
        # In a tuple, so that they do not become submodules.
        self._of_target = (target.get_input_embeddings(), target.get_output_embeddings())

    def get_output_embeddings(self) -> Any:
        return self._of_target[1]

    def embed(self, tokens: Tensor) -> Tensor:
        """Returns the embeddings of ids, shape (..., width)."""
        return cast(Tensor, self._of_target[0](tokens))

    def placed_like(self, target: Any) -> Self:
        """Returns the trained head on its target's device and in its precision, for drafting."""
        like = target.get_input_embeddings().weight
        return self.to(like.device, like.dtype).eval().requires_grad_(False)

    @abstractmethod
    def entry(self, states: Tensor) -> Tensor:
        """Maps the target's states to the states that the head reads, shape (..., width)."""

    @abstractmethod
    def forward(
        self, embedded: Tensor, states: Tensor, positions: Tensor, mask: Tensor | None, cache: Cache
    ) -> Tensor:
        """Returns the head's states at the next positions, shape (batch, n, width).

        embedded, states: embeddings of the tokens after the positions, and states at the positions,
          both of shape (batch, n, width); positions: shape (1, n).
        mask: added to attention scores, shape (1, 1, n, cached + n); None: a single position
          attends to all cached ones.
        cache: keys and values of earlier positions; these positions are appended.
        """

    @abstractmethod
    def logits(self, states: Tensor) -> Tensor:
        """Returns logits over the target's vocabulary; -inf for ids that the head never drafts."""

    def empty_cache(self) -> Cache:
        """Returns an empty cache that can be rolled back."""
        cache = DynamicCache()
        cache.layers = [RoomyLayer() for _ in range(self.depth)]
        return cache


def causal_mask(rows: int, before: int, like: Tensor) -> Tensor | None:
    """Returns the causal mask for `rows` positions after `before` cached ones; None for one row."""
    if rows == 1:
        return None
    seen = torch.ones(rows, before + rows, dtype=torch.bool, device=like.device).tril(before)
    return hidden_at(~seen, like.dtype)


def unrolled(
    head: StateHead, states: Tensor, tokens: Tensor, cache: Any, *, first: int, steps: int
) -> Iterator[Tensor]:
    """Yields the head's states after each step of drafting from N positions at once.

    The first step is a causal pass over the target's states. In each later step a draft also
    attends to its own earlier steps ("training-time test", Li et al. 2025, section 3.2, Figure 6).

    states: the target's states at N consecutive positions, shape (batch, N, width).
    tokens: the ids from the second position on, shape (batch, N + steps - 1).
    cache: keys and values of the positions before the first; each step appends N positions.
    first: index in the text of the first of the N positions.
    """
    count = states.shape[1]
    own = head.entry(states)
    seen = torch.ones(count, first + count, dtype=torch.bool, device=own.device).tril(first)
    itself = torch.eye(count, dtype=torch.bool, device=own.device)
    positions = torch.arange(first, first + count, device=own.device)[None]
    for step in range(steps):
        if step > 0:
            seen = torch.cat([seen, itself], dim=1)
        embedded = head.embed(tokens[:, step : step + count])
        own = head(embedded, own, positions + step, hidden_at(~seen, own.dtype), cache)
        yield own
