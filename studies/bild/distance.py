"""BiLD's rollback: the target replaces the first drafted token too far from its own law."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.laws.laws import Dense, Laws, OneHot

Distance = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Of the target's laws p, the draft's q, both (positions, vocabulary), and the tokens drafted."""


def cross_entropy(p: Tensor, q: Tensor, tokens: Tensor) -> Tensor:
    """Returns -ln p(x), shape (positions,), in nats: the paper's choice (section 3.4).

    The cross-entropy between the small model's hard label, which is the token x that it wrote, and
    the large model's soft label.
    """
    return -p.gather(-1, tokens[:, None]).squeeze(-1).log()


def kl_divergence(p: Tensor, q: Tensor, tokens: Tensor) -> Tensor:
    """Returns KL(q || p), shape (positions,), in nats: what the draft's law adds to -ln p."""
    surprise = torch.where(q > 0, q.log() - p.log(), 0.0)
    return (q * surprise).sum(dim=-1)


def total_variation(p: Tensor, q: Tensor, tokens: Tensor) -> Tensor:
    """Returns sum over y of max(0, q(y) - p(y)), shape (positions,): the chance of a rejection.

    Of equal laws it is 0; 1 - sum of min(p, q), the same number, is 0 there but for rounding.
    """
    return (q - p).clamp(min=0).sum(dim=-1)


def disagreement(p: Tensor, q: Tensor, tokens: Tensor) -> Tensor:
    """Returns 1 where the laws' likeliest tokens differ, else 0; shape (positions,)."""
    return (p.argmax(dim=-1) != q.argmax(dim=-1)).to(p.dtype)


DISTANCES: dict[str, Distance] = {
    "cross-entropy": cross_entropy,
    "kl": kl_divergence,
    "total-variation": total_variation,
    "disagreement": disagreement,
}


@dataclass(frozen=True, slots=True)
class Rollback:
    """Keeps drafted tokens while d(q, p) <= threshold (Kim et al. 2023, Eq. 3): lossy by design.

    The first token that is farther is replaced by the target's own, and what follows it is dropped.
    No draw decides. Distances are of the laws that tokens are drawn from; under greedy decoding, of
    those at temperature 1. A token that the target's sampling excludes (outside its nucleus) is
    infinitely far in cross-entropy. A draft that ends the text ends it unread: "while y[-1] is not
    the end of text" asks nothing of the large model.

    threshold: alpha_RB, at least 0; infinite: never rolls back.
    distance: a name of `DISTANCES`.

    Raises:
      ValueError: if one is out of range.
    """

    threshold: float
    distance: str = "cross-entropy"

    def __post_init__(self) -> None:
        if not self.threshold >= 0:
            raise ValueError(f"rollback must be at least 0, got {self.threshold}")
        if self.distance not in DISTANCES:
            raise ValueError(
                f"distance must be one of {', '.join(DISTANCES)}, got {self.distance!r}"
            )

    @property
    def name(self) -> str:
        return f"rollback {self.threshold:g}"

    @property
    def lossless(self) -> bool:
        return False

    def distances(self, p: Laws, q: Laws, tokens: Tensor) -> Tensor:
        """Returns d(q, p) at each position, shape (positions,)."""
        own = _soft(p)
        vocabulary = own.shape[-1]
        return DISTANCES[self.distance](own, _soft(q, vocabulary), tokens)

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        return ~(self.distances(p, q, tokens) > self.threshold)

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        return p.at(place)


def _soft(law: Laws, vocabulary: int | None = None) -> Tensor:
    """Returns what stands behind a law: greedy ones at temperature 1, where there is such a law."""
    if isinstance(law, OneHot):
        hidden = law.at_temperature_one()
        if hidden is not None:
            return hidden.probabilities
    if vocabulary is None:
        assert isinstance(law, Dense), "a target's greedy laws come with their logits"
        return law.probabilities
    return law.dense(vocabulary)
