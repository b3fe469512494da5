"""Two drafters that cost next to nothing: copy where the text repeats itself, else an n-gram."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ngram.drafters.lookup import PromptLookupDrafter
from ngram.drafters.ngram_drafter import NgramDrafter
from reference.drafter import Draft
from reference.laws.laws import Laws
from reference.laws.scoring import Scores
from reference.policies.policy import Policy


class LookupThenNgram:
    """Each block is drafted by the lookup where it finds a match, else by the n-gram model."""

    def __init__(self, lookup: PromptLookupDrafter, ngram: NgramDrafter) -> None:
        """Joins two drafters for the same target.

        Args:
          lookup: asked first.
          ngram: drafts a whole block where the lookup has nothing.
        """
        self.lookup = lookup
        self.ngram = ngram

    @property
    def name(self) -> str:
        return f"{self.lookup.name}+{self.ngram.name}"

    @property
    def forward_seconds(self) -> float:
        return self.lookup.forward_seconds + self.ngram.forward_seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self.lookup.start(prompt, text)
        self.ngram.start(prompt, text)

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        draft = self.lookup.propose(text, limit, policy, generator)
        if len(draft.tokens) > 0:
            return draft
        return self.ngram.propose(text, limit, policy, generator)

    def score(
        self,
        prompt: Sequence[int],
        text: Sequence[int],
        continuation: Sequence[int],
        p: Laws,
        max_gamma: int,
    ) -> Scores:
        copied = self.lookup.score(prompt, text, continuation, p, max_gamma)
        modelled = self.ngram.score(prompt, text, continuation, p, max_gamma)
        assert copied.drafted is not None
        matched = copied.drafted > 0
        along = _by_block(modelled.acceptance, max_gamma)
        return Scores(
            beta=torch.where(matched, copied.beta, modelled.beta),
            acceptance=torch.where(matched[:, None], copied.acceptance, along),
            drafted=torch.where(matched, copied.drafted, max_gamma),
        )


def _by_block(acceptance: Tensor, max_gamma: int) -> Tensor:
    """Returns a_{t,k} = a_{t+k} of a drafter whose law depends on the preceding text alone.

    Args:
      acceptance: shape (N,).
      max_gamma: offsets wanted.

    Returns:
      shape (N, max_gamma); 0 beyond the text.
    """
    padded = torch.nn.functional.pad(acceptance, (0, max_gamma))
    return padded.unfold(0, max_gamma, 1)[: len(acceptance)]
