"""BiLD's fallback: the small model writes while it is sure (Kim et al. 2023, section 3.3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from reference.laws.laws import Laws, OneHot
from reference.records import Block

PAPERS_MOST = 10
"""The most tokens in a row that the small model writes in the paper's runs (section 7.1.2)."""


def peak_probability(law: Tensor) -> Tensor:
    """Returns max over y of q(y), shape (positions,): the paper's measure."""
    return law.amax(dim=-1)


def inverse_perplexity(law: Tensor) -> Tensor:
    """Returns e^(-H(q)), shape (positions,), where H is the entropy in nats.

    One over the number of equally likely tokens that would be as uncertain; at most max q.
    """
    return law.xlogy(law).sum(dim=-1).exp()


MEASURES: dict[str, Callable[[Tensor], Tensor]] = {
    "probability": peak_probability,
    "entropy": inverse_perplexity,
}


@dataclass(frozen=True, slots=True)
class Fallback:
    """Drafts until the draft model is unsure of a position, before it draws there.

    Falls back where the certainty of q is below the threshold; the position is then the target's.
    That depends on the law alone, so under the strict rule the output law stays the target's own;
    `Confidence`, which asks after the draw, must submit the unsure token, too. Greedy drafting is
    judged by the law at temperature 1; a drafter without one is certain. The answer makes the
    device wait once a token.

    threshold: alpha_FB, at least 0; 0 always drafts, and above 1 the target writes alone.
    most: the most tokens that a block drafts, at least 1.
    measure: a certainty in [0, 1]: a name of `MEASURES`.
    end_ids: nothing is drafted after these.

    Raises:
      ValueError: if one is out of range.
    """

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

    @property
    def name(self) -> str:
        return "fallback"

    def gamma(self, blocks: Sequence[Block]) -> int:
        return self.most

    def certainty(self, q: Laws) -> float:
        """Returns how certain one position's law is, in [0, 1]."""
        law = q.at_temperature_one() if isinstance(q, OneHot) else q
        return 1.0 if law is None else float(MEASURES[self.measure](law.probabilities))

    def trusts(self, q: Laws) -> bool:
        return self.certainty(q) >= self.threshold

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        return int(token) not in self.end_ids
