"""BiLD's two decisions (Kim et al. 2023): when to call the large model, and what to roll back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from reference.laws import Dense, Laws, OneHot
from reference.records import Block

PAPERS_MOST = 10
"""Most tokens in a row that the small model writes in the paper's runs (section 7.1.2)."""


MEASURES = ("probability", "entropy")


@dataclass(frozen=True, slots=True)
class Fallback:
    """Drafts until the draft model is not certain of the next position.

    The decision depends only on the distribution q, not on the drawn token, so under the strict
    rule the output keeps the target's distribution. Greedy drafting uses the certainty at
    temperature 1. A drafter without distributions counts as certain.

    threshold: alpha_FB, at least 0. A lower certainty leaves the position to the target: 0 always
      drafts; above 1 only the target writes.
    measure: name of the certainty in [0, 1], from `MEASURES`.
    end_ids: ids after which a draft ends.
    """

    name: ClassVar[str] = "fallback"
    threshold: float
    most: int = PAPERS_MOST
    measure: str = "probability"
    end_ids: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < float("inf"):
            raise ValueError(f"fallback must be finite and at least 0, got {self.threshold}")
        if self.most < 1:
            raise ValueError(f"most must be at least 1, got {self.most}")
        if self.measure not in MEASURES:
            raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {self.measure!r}")

    def gamma(self, blocks: Sequence[Block]) -> int:
        return self.most

    def certainty(self, q: Laws) -> float:
        """Returns the certainty of one position's distribution, in [0, 1].

        probability: max over y of q(y), as in the paper; entropy: e^(-H(q)) <= max q, H in nats.
        """
        law = q.at_temperature_one() if isinstance(q, OneHot) else q
        if law is None:
            return 1.0
        p = law.probabilities
        by_entropy = self.measure == "entropy"
        return float(p.xlogy(p).sum(dim=-1).exp() if by_entropy else p.amax(dim=-1))

    def trusts(self, q: Laws) -> bool:
        return self.certainty(q) >= self.threshold

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        return int(token) not in self.end_ids


DISTANCES = ("cross-entropy", "kl", "total-variation", "disagreement")


def distances_between(distance: str, p: Tensor, q: Tensor, tokens: Tensor) -> Tensor:
    """Returns d(q, p) at each position, shape (positions,).

    cross-entropy: -ln p(x) of the drafted token x, the paper's choice (section 3.4).
    kl: KL(q || p) in nats.
    total-variation: sum over y of max(0, q(y) - p(y)), the probability of a rejection. Exactly 0
      for equal distributions, unlike 1 - sum of min(p, q), which rounds.
    disagreement: 1 where p and q have different likeliest tokens, else 0.

    p, q: shape (positions, vocabulary); tokens: the drafted ones.
    """
    match distance:
        case "cross-entropy":
            return -p.gather(-1, tokens[:, None]).squeeze(-1).log()
        case "kl":
            return (q * torch.where(q > 0, q.log() - p.log(), 0.0)).sum(dim=-1)
        case "total-variation":
            return (q - p).clamp(min=0).sum(dim=-1)
    return (p.argmax(dim=-1) != q.argmax(dim=-1)).to(p.dtype)


@dataclass(frozen=True, slots=True)
class Rollback:
    """Accepts drafted tokens while d(q, p) <= threshold (Kim et al. 2023, Eq. 3): lossy by design.

    The first token with a larger distance is replaced by the target's token, and later ones are
    dropped. No random number is used. Distances are between the distributions that tokens are drawn
    from; under greedy decoding, between those at temperature 1. A token that the target's sampling
    excludes (outside its nucleus) has infinite cross-entropy.

    threshold: alpha_RB, at least 0; infinite: never rolls back.
    """

    lossless: ClassVar[bool] = False
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

    def distances(self, p: Laws, q: Laws, tokens: Tensor) -> Tensor:
        """Returns d(q, p) at each position, shape (positions,)."""
        own = _soft(p)
        return distances_between(self.distance, own, _soft(q, own.shape[-1]), tokens)

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        return ~(self.distances(p, q, tokens) > self.threshold)

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        return p.at(place)


def _soft(law: Laws, vocabulary: int = 0) -> Tensor:
    """Returns the distribution before the argmax, at temperature 1, if there is one."""
    hidden = law.at_temperature_one() if isinstance(law, OneHot) else None
    return (law if hidden is None else hidden).dense(vocabulary)
