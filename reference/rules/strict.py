"""The rule protocol, and the strict rule: speculative sampling, which no output tells."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from reference.laws.laws import Dense, Laws, OneHot


class Rule(Protocol):
    """Judges drafted tokens and gives the law of a rejected token's replacement."""

    @property
    def name(self) -> str:
        """What reports call this rule."""

    @property
    def lossless(self) -> bool:
        """Whether the output law is the target's own."""

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        """Returns which tokens are accepted, shape (gamma,), bool; those before the first that
        is not stand.

        Args:
          p, q: the target's and the draft's laws at the drafted positions.
          tokens: shape (gamma,), int64.
          uniform: draws from [0, 1), shape (gamma,); none where p is one-hot.
        """

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        """Returns the law, not normalised, of what replaces the first token that does not stand.

        Args:
          place: that token's index, shape (1,), int64.
        """


@dataclass(frozen=True, slots=True)
class Strict:
    """Speculative sampling (Leviathan et al. 2023, Algorithm 1): the output law is p exactly."""

    name: ClassVar[str] = "strict"
    lossless: ClassVar[bool] = True

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        if isinstance(p, OneHot):
            return p.tokens == tokens
        # r < p/q without the division; strict, so that r = 0 never accepts where p = 0.
        return uniform * q.of(tokens) < p.of(tokens)

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        return Dense(residual(p.at(place).probabilities, q.at(place)))


STRICT = Strict()


def residual(p: Tensor, q: Laws) -> Tensor:
    """Returns max(0, p - q), not normalised; p where nothing would be left.

    Leviathan et al. 2023, section 2.3.

    Nothing is left only where p equals q up to rounding, and then no token is rejected save by
    the rounding itself.

    Args:
      p: shape (positions, vocabulary).
    """
    if isinstance(q, OneHot):
        left = p.scatter(1, q.tokens[:, None], 0.0)
    else:
        left = (p - q.probabilities).clamp_(min=0)
    return torch.where(left.sum(dim=-1, keepdim=True) > 0, left, p)
