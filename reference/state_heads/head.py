"""What heads on the target's states share, and how all drafts of a text are read at once.

At a position such a head reads a state there and the token after it; what it makes of them tells
the next token, and is the state that it reads one position on. The first state of a draft is the
target's, the others are the head's own (Li et al. 2025, EAGLE-3; DeepSeek-AI 2024, section 2.2).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import Cache, DynamicCache

from reference.models.cache_layers import RoomyLayer


class StateHead(nn.Module, ABC):
    """A head on a target's states.

    taps: the boundaries of the target's layers at which it reads the target's states, side by side
      (`reference.models.states`).
    depth: layers of its own, that keep keys and values.
    """

    taps: tuple[int | None, ...]
    depth: int

    def __init__(self, target: Any) -> None:
        """Makes a head that uses a target's embeddings where it has none.

        Args:
          target: a `PreTrainedModel`.
        """
        super().__init__()
        # In a tuple: they are the target's, and none of this module's own.
        self._of_target = (target.get_input_embeddings(), target.get_output_embeddings())

    def get_output_embeddings(self) -> Any:
        """Returns the output matrix that it uses, as `PreTrainedModel` names this."""
        return self._of_target[1]

    def embed(self, tokens: Tensor) -> Tensor:
        """Returns the embeddings of ids, shape (..., width)."""
        embedded: Tensor = self._of_target[0](tokens)
        return embedded

    def beside(self, target: Any) -> Self:
        """Returns the head, trained, on the device and in the precision of its target."""
        like = target.get_input_embeddings().weight
        return self.to(like.device, like.dtype).eval().requires_grad_(False)

    @abstractmethod
    def entry(self, states: Tensor) -> Tensor:
        """Returns what the head reads in place of the target's states, shape (..., width)."""

    @abstractmethod
    def forward(
        self, embedded: Tensor, states: Tensor, positions: Tensor, mask: Tensor | None, cache: Cache
    ) -> Tensor:
        """Returns the head's states, shape (batch, n, width).

        Args:
          embedded: of the tokens after the positions, shape (batch, n, width).
          states: at the positions, shape (batch, n, width).
          positions: shape (1, n).
          mask: added to attention scores, shape (1, 1, n, cached + n); None: a lone position sees
            all.
          cache: of the positions before; it takes in these.
        """

    @abstractmethod
    def logits(self, states: Tensor) -> Tensor:
        """Returns logits over the target's vocabulary, shape (..., vocabulary).

        They are -inf for what the head never drafts.
        """

    def empty_cache(self) -> Cache:
        """Returns a cache of no positions that rolls back."""
        cache = DynamicCache()
        cache.layers = [RoomyLayer() for _ in range(self.depth)]
        return cache


def causal_mask(rows: int, before: int, like: Tensor) -> Tensor | None:
    """Returns the mask of new positions after those of a cache; None where there is but one.

    Args:
      before: positions in the cache, all of which are seen.
    """
    if rows == 1:
        return None
    seen = torch.ones(rows, before + rows, dtype=torch.bool, device=like.device).tril(before)
    return hidden_at(~seen, like)


def hidden_at(unseen: Tensor, like: Tensor) -> Tensor:
    """Returns what is added to attention scores, shape (1, 1, rows, columns)."""
    mask = torch.zeros(unseen.shape, dtype=like.dtype, device=like.device)
    return mask.masked_fill_(unseen, torch.finfo(like.dtype).min)[None, None]


def unrolled(
    head: StateHead, states: Tensor, tokens: Tensor, cache: Any, *, first: int, steps: int
) -> Iterator[Tensor]:
    """Yields the head's states after each step of the drafts that begin at N positions.

    A draft that begins at a position sees what the head made of the target's states up to there,
    and its own steps; so the first step is a causal pass, and each further one sees besides of
    every earlier step its own draft's place alone ("training-time test", Li et al. 2025, section
    3.2, Figure 6).

    Args:
      states: the target's at N consecutive positions, shape (batch, N, width).
      tokens: the ids drafted and read, N + steps - 1 from the first position's next on, shape
        (batch, N + steps - 1).
      cache: holds the positions before the first; it takes in N for each step.
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
        own = head(embedded, own, positions + step, hidden_at(~seen, own), cache)
        yield own
