"""Sampling settings, and the function that turns logits into distributions, of target or draft."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reference.laws.laws import Dense, Laws, OneHot, likeliest, precise

LEAST_TEMPERATURE = 1e-6


@dataclass(frozen=True, slots=True)
class Sampling:
    """How logits become a next-token distribution (Leviathan et al. 2023, section 2.2).

    Applied in the order of transformers: repetition penalty, temperature, top-k, top-p, min-p.

    temperature: 0 for the one-hot argmax (ties go to the smallest id), or at least 1e-6, so that
      no logit overflows.
    top_k: keep the k largest logits (and their ties); None keeps all.
    top_p: keep the smallest set of tokens whose probability reaches top_p, in (0, 1].
    min_p: drop tokens below min_p times the largest probability, in [0, 1].
    repetition_penalty: above 0; divides positive logits of tokens already in the text, multiplies
      negative ones (Keskar et al. 2019). 1 changes nothing.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        # Written so that NaN fails each comparison.
        if not (self.temperature == 0 or LEAST_TEMPERATURE <= self.temperature < float("inf")):
            raise ValueError(
                f"temperature must be 0, or finite and at least {LEAST_TEMPERATURE}, "
                f"got {self.temperature}"
            )
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be at least 1, got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must lie in (0, 1], got {self.top_p}")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p must lie in [0, 1], got {self.min_p}")
        if not 0 < self.repetition_penalty < float("inf"):
            raise ValueError(
                f"repetition_penalty must be finite and above 0, got {self.repetition_penalty}"
            )

    @property
    def greedy(self) -> bool:
        """Whether every distribution is one-hot."""
        return self.temperature == 0

    def laws(self, logits: Tensor, text: Sequence[int], drafted: Sequence[Tensor] = ()) -> Laws:
        """Returns the distributions of consecutive positions.

        Args:
          logits: shape (positions, vocabulary). The last row follows all of `text` and `drafted`;
            each earlier row follows one token less.
          text: the ids so far, for the repetition penalty.
          drafted: the ids after the text, in parts of shape (n,), int64.
        """
        if self.repetition_penalty != 1:
            logits = self._penalised(precise(logits), text, drafted)
        if self.greedy:
            return OneHot(likeliest(logits), logits)
        logits = precise(logits)
        if self.temperature != 1:
            logits = logits / self.temperature
        if self.top_k is not None and self.top_k < logits.shape[-1]:
            least = logits.topk(self.top_k, dim=-1).values[:, -1:]
            logits = logits.masked_fill(logits < least, -torch.inf)
        if self.top_p < 1:
            logits = self._nucleus(logits)
        probabilities = logits.softmax(dim=-1)
        if self.min_p > 0:
            least = self.min_p * probabilities.amax(dim=-1, keepdim=True)
            probabilities = logits.masked_fill(probabilities < least, -torch.inf).softmax(dim=-1)
        return Dense(probabilities)

    def _nucleus(self, logits: Tensor) -> Tensor:
        """Returns logits with -inf outside the smallest set that reaches top_p."""
        ascending, order = logits.sort(dim=-1)
        below = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - self.top_p
        below[:, -1] = False
        return logits.masked_fill(below.scatter(-1, order, below), -torch.inf)

    def _penalised(self, logits: Tensor, text: Sequence[int], drafted: Sequence[Tensor]) -> Tensor:
        rows, vocabulary = logits.shape
        ids = torch.cat([torch.tensor(text, device=logits.device), *drafted])
        # Row 0 follows all but the last rows - 1 ids, each later row one id more.
        seen_from = torch.arange(rows - len(ids), rows, device=logits.device).clamp_(min=0)
        first_row = torch.full((vocabulary,), rows, device=logits.device)
        first_row.scatter_reduce_(0, ids, seen_from, "amin")
        seen = torch.arange(rows, device=logits.device)[:, None] >= first_row
        penalised = torch.where(
            logits < 0, logits * self.repetition_penalty, logits / self.repetition_penalty
        )
        return torch.where(seen, penalised, logits)


def seeded(device: torch.device, *seed: int) -> torch.Generator:
    """Returns a random generator seeded by these numbers."""
    # The length comes first because SeedSequence ignores trailing zeros.
    state = np.random.SeedSequence((len(seed), *seed)).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state) >> 1)
