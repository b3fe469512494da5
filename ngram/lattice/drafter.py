"""Drafts chosen from the lattice of a block: one, or several that one target call verifies.

Both ways of Kim et al. 2024 (blockwise drafts), section 7, choose without chance, so the law that
the verifier needs is one-hot and decoding is lossless at every temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from ngram.lattice.lattice import Lattice, lattice_of, require_arcs
from reference.branches import branching
from reference.drafter import Draft
from reference.heads.drafter import HeadsDrafter
from reference.laws.laws import Laws, OneHot
from reference.laws.scoring import Scores
from reference.models.stopwatch import Stopwatch
from reference.policies.policy import Policy


class Rescoring(Protocol):
    """Chooses drafts from a lattice."""

    def start(self, prompt: Sequence[int]) -> None:
        """Begins a new text."""

    def drafts(self, lattice: Lattice, text: Sequence[int]) -> NDArray[np.int64]:
        """Returns the drafts that are to follow text, the best first, shape (p, steps)."""


class LatticeDrafter:
    """Drafts by blockwise heads, their choice rescored."""

    def __init__(self, heads: HeadsDrafter, rescoring: Rescoring, *, k: int, name: str) -> None:
        """Joins heads and what rescores their lattice.

        Args:
          heads: span the lattice.
          rescoring: chooses from it.
          k: tokens of each head that the lattice holds.
          name: what reports call it.

        Raises:
          ValueError: if k is below 1 or above the vocabulary.
        """
        require_arcs(k, heads.target.vocabulary)
        self.heads = heads
        self.rescoring = rescoring
        self.k = k
        self.name = name
        self._stopwatch = Stopwatch(torch.device("cpu"))

    @property
    def forward_seconds(self) -> float:
        return self.heads.forward_seconds + self._stopwatch.seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self.rescoring.start(prompt)

    def _drafts(self, text: Sequence[int], limit: int) -> list[list[int]]:
        """Returns the drafts after text, each of up to limit tokens; none without a state."""
        logits = self.heads.logits(text, limit)
        if logits is None:
            return []
        with self._stopwatch:
            lattice = lattice_of(logits.float().log_softmax(dim=-1).cpu().numpy(), self.k)
            drafts: list[list[int]] = self.rescoring.drafts(lattice, text).tolist()
        return drafts

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        """Returns one draft, or several as one that branches; of these a policy cuts none."""
        drafts = self._drafts(text, limit)
        device = self.heads.target.device
        if len(drafts) > 1:
            return branching(drafts, device)
        tokens = torch.tensor(drafts[0] if drafts else [], dtype=torch.int64, device=device)
        length = 0
        refused = False
        while length < len(tokens):
            token = tokens[length : length + 1]
            refused = not policy.trusts(OneHot(token))
            if refused:
                break
            length += 1
            if length < len(tokens) and not policy.goes_on(token, OneHot(token)):
                break
        return Draft(tokens[:length], OneHot(tokens[:length]), refused=refused)

    def score(
        self,
        prompt: Sequence[int],
        text: Sequence[int],
        continuation: Sequence[int],
        p: Laws,
        max_gamma: int,
    ) -> Scores:
        """Returns whether each token would be accepted: whether a draft goes with the text so far.

        As for `HeadsDrafter.score`, the target's cache holds text and continuation.
        """
        self.start(prompt, text)
        whole = [*text, *continuation]
        tokens = len(continuation)
        beta = torch.zeros(tokens, dtype=torch.float64)
        acceptance = torch.zeros(tokens, max_gamma, dtype=torch.float64)
        drafted = torch.zeros(tokens, dtype=torch.int64)
        for start in range(tokens):
            drafts = self._drafts(whole[: len(text) + start], max_gamma)
            if drafts:
                drafted[start] = len(drafts[0])
                longest = max(agreed(draft, continuation[start:]) for draft in drafts)
                acceptance[start, :longest] = 1
                first = torch.tensor(sorted({draft[0] for draft in drafts}), device=p.device)
                at = torch.full_like(first, start)
                beta[start] = p.at(at).of(first).double().sum().item()
        return Scores(beta, acceptance, drafted)


def agreed(draft: Sequence[int], text: Sequence[int]) -> int:
    """Returns how many tokens of a draft are the text's."""
    length = 0
    for token, own in zip(draft, text, strict=False):
        if token != own:
            break
        length += 1
    return length
