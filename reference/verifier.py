"""The one verifier: how many drafted tokens stand, and the target's own token after them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from reference.drafter import Draft
from reference.laws.laws import Laws, OneHot, draw
from reference.rules.strict import Rule


@dataclass(frozen=True, slots=True)
class Verified:
    """What one target call makes of a draft.

    drafted: the proposed ids; of a draft that branches, the accepted ones and how the likeliest
      branch goes on from there.
    accepted: how many of them stand.
    own: the id after those, the target's.
    p: the target's laws at the drafted positions and the one after.
    """

    drafted: tuple[int, ...]
    accepted: int
    own: int
    p: Laws

    @property
    def tokens(self) -> tuple[int, ...]:
        """The ids that go on from the text: accepted ones, then the target's own."""
        return (*self.drafted[: self.accepted], self.own)


def verify(
    p: Laws, draft: Draft, *, rule: Rule, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Returns the number of accepted tokens and the token that follows them.

    Algorithm 1 of Leviathan et al. 2023, second half. Nothing here waits for the device.

    Args:
      p: the target's laws at the gamma drafted positions and the one after.

    Returns:
      accepted: shape (1,), int64, in 0..gamma.
      token: shape (1,), int64: the replacement of the first rejected token or, where none was,
        a token of the target's law after the whole draft.
    """
    gamma = len(draft.tokens)
    if gamma == 0:
        return draft.tokens.new_zeros(1), p.draw(generator)
    draws = 0 if isinstance(p, OneHot) else gamma
    uniform = torch.rand(draws, generator=generator, device=draft.tokens.device)
    accepts = rule.accepts(p.first(gamma), draft.q, draft.tokens, uniform)
    accepted = accepts.cumprod(dim=0).sum(dim=0, keepdim=True)
    if isinstance(p, OneHot):
        # A token rejected under a one-hot p is not p's, so max(0, p - q) is p's token alone.
        return accepted, p.tokens.gather(0, accepted)
    place = accepted.clamp(max=gamma - 1)
    replacement = rule.replacement(p.first(gamma), draft.q, draft.tokens, place).probabilities
    weights = torch.where(accepted[:, None] < gamma, replacement, p.probabilities[gamma:])
    return accepted, draw(weights, generator)
