"""The strict rule: speculative sampling, after which no output tells that there was a draft."""

from dataclasses import dataclass

import torch
from torch import Tensor

from reference.laws.laws import Dense, Laws, OneHot


@dataclass(frozen=True, slots=True)
class Strict:
    """Speculative sampling (Leviathan et al. 2023, Algorithm 1): the output law is p exactly."""

    @property
    def name(self) -> str:
        return "strict"

    @property
    def lossless(self) -> bool:
        return True

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
      q: the draft's laws at the same positions.
    """
    if isinstance(q, OneHot):
        left = p.scatter(1, q.tokens[:, None], 0.0)
    else:
        left = (p - q.probabilities).clamp_(min=0)
    return torch.where(left.sum(dim=-1, keepdim=True) > 0, left, p)
