"""The rule protocol, and the strict rule: speculative sampling without loss."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from reference.laws.laws import Dense, Laws, OneHot


class Rule(Protocol):
    """Judges drafted tokens and gives the distribution of a rejected token's replacement.

    Example: a rule that accepts nothing is lossless, because every token is then the target's.

        class Nothing:
            name, lossless = "nothing", True

            def accepts(self, p, q, tokens, uniform):
                return torch.zeros_like(tokens, dtype=torch.bool)

            def replacement(self, p, q, tokens, place):
                return p.at(place)
    """

    @property
    def name(self) -> str:
        """The rule's name in reports."""

    @property
    def lossless(self) -> bool:
        """Whether the output has the target's own distribution."""

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        """Returns which tokens are accepted, shape (gamma,), bool; tokens after the first False
        are rejected, too.

        Args:
          p, q: the target's and the draft's distributions at the drafted positions.
          tokens: drafted ids, shape (gamma,), int64.
          uniform: draws from [0, 1), shape (gamma,); empty if p is one-hot.
        """

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        """Returns the distribution, not normalised, of the first rejected token's replacement.

        Args:
          place: index of that token, shape (1,), int64.
        """


@dataclass(frozen=True, slots=True)
class Strict:
    """Speculative sampling (Leviathan et al. 2023, Algorithm 1): the output is distributed as p."""

    name: ClassVar[str] = "strict"
    lossless: ClassVar[bool] = True

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        if isinstance(p, OneHot):
            return p.tokens == tokens
        # r < p/q without a division. Strictly less, so that r = 0 does not accept where p = 0.
        return uniform * q.of(tokens) < p.of(tokens)

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        return Dense(residual(p.at(place).probabilities, q.at(place)))


STRICT = Strict()


def residual(p: Tensor, q: Laws) -> Tensor:
    """Returns max(0, p - q), not normalised; p itself where the difference is 0 throughout.

    Leviathan et al. 2023, section 2.3. The difference is 0 throughout only where p equals q up to
    rounding, and there only rounding can reject a token.

    Args:
      p: shape (positions, vocabulary).
    """
    if isinstance(q, OneHot):
        left = p.scatter(1, q.tokens[:, None], 0.0)
    else:
        left = (p - q.probabilities).clamp_(min=0)
    return torch.where(left.sum(dim=-1, keepdim=True) > 0, left, p)
