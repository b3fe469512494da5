"""Accepts a prefix of a draft without branches, and draws the token that follows it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from reference.drafter import Draft
from reference.laws.laws import Laws, OneHot, draw
from reference.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class Verified:
    """The target's verdict on a draft.

    drafted: the proposed ids. For a draft that branches: the accepted path, continued along the
      likeliest branch.
    accepted: number of accepted ids.
    own: the target's own id, which follows the accepted ones.
    p: the target's distributions at the drafted positions and at the next one.
    """

    drafted: tuple[int, ...]
    accepted: int
    own: int
    p: Laws

    @property
    def tokens(self) -> tuple[int, ...]:
        """The ids to append to the text: the accepted ones, then the target's own."""
        return (*self.drafted[: self.accepted], self.own)


def verify(
    p: Laws, draft: Draft, *, rule: Rule, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Returns the number of accepted tokens (0 to gamma) and the token that follows them.

    Leviathan et al. 2023, Algorithm 1, second half. The token replaces the first rejected one. If
    all are accepted, it is drawn from the target's distribution after the draft. Both results have
    shape (1,), int64; computing them does not wait for the device.

    Args:
      p: the target's distributions at the gamma drafted positions and at the next one.
    """
    gamma = len(draft.tokens)
    if gamma == 0:
        return draft.tokens.new_zeros(1), p.draw(generator)
    draws = 0 if isinstance(p, OneHot) else gamma
    uniform = torch.rand(draws, generator=generator, device=draft.tokens.device)
    accepts = rule.accepts(p.first(gamma), draft.q, draft.tokens, uniform)
    accepted = accepts.cumprod(dim=0).sum(dim=0, keepdim=True)
    if isinstance(p, OneHot):
        # A token rejected under a one-hot p is not p's, so max(0, p - q) is p's token.
        return accepted, p.tokens.gather(0, accepted)
    place = accepted.clamp(max=gamma - 1)
    replacement = rule.replacement(p.first(gamma), draft.q, draft.tokens, place).probabilities
    weights = torch.where(accepted[:, None] < gamma, replacement, p.probabilities[gamma:])
    return accepted, draw(weights, generator)
