"""Policies decide when drafting stops (Leviathan et al. 2023, sections 3.5 and 6).

A policy decides twice at each position: whether to draw from the distribution q (Kim et al. 2023,
section 3.3), and whether to go on after the drawn token. A decision does not depend on whether the
token will be accepted, and a drawn token is always submitted. So no policy changes the distribution
of the output.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from torch import Tensor

from reference.laws import Laws, OneHot
from reference.records import Block


class Policy(Protocol):
    """Decides how many tokens each block drafts.

    Example: a policy that drafts one token more in each block.

      >>> class Growing(Policy):
      ...     name = "growing"
      ...     def gamma(self, blocks):
      ...         return len(blocks)
      >>> Growing().gamma([])
      0

    name: the policy's name in reports.
    """

    name: ClassVar[str]

    def gamma(self, blocks: Sequence[Block]) -> int:
        """Returns how many tokens the next block may draft, given the text's blocks so far."""

    def trusts(self, q: Laws) -> bool:
        """Returns whether to draw the next token, from its distribution q; else the draft ends."""
        return True

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        """Returns whether to draft another token after `token`, shape (1,), drawn from q."""
        return True


@dataclass(frozen=True, slots=True)
class Fixed(Policy):
    """Drafts `value` tokens in every block; 0 never drafts."""

    name: ClassVar[str] = "fixed"
    value: int

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError(f"gamma must be at least 0, got {self.value}")

    def gamma(self, blocks: Sequence[Block]) -> int:
        return self.value


@dataclass(frozen=True, slots=True)
class Confidence(Policy):
    """Drafts until the draft model is unsure of a token that it drew.

    A draft ends after a token whose probability under the draft is below the threshold, as with
    transformers' `assistant_confidence_threshold`; here the threshold stays constant. The unsure
    token stays in the draft. A greedy draft's probabilities are taken at temperature 1. Reading
    the probability makes the CPU wait for the device at each drafted token.

    threshold: in [0, 1]; 0 never stops.
    most: the most tokens that a block drafts, at least 1.
    """

    name: ClassVar[str] = "confidence"
    threshold: float
    most: int

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold must lie in [0, 1], got {self.threshold}")
        if self.most < 1:
            raise ValueError(f"most must be at least 1, got {self.most}")

    def gamma(self, blocks: Sequence[Block]) -> int:
        return self.most

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        return bool(own_probability(token, q) >= self.threshold)


class Product(Confidence):
    """Drafts until the product of the block's token probabilities is below the threshold."""

    name: ClassVar[str] = "product"
    _product = 1.0

    def gamma(self, blocks: Sequence[Block]) -> int:
        object.__setattr__(self, "_product", 1.0)
        return self.most

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        object.__setattr__(self, "_product", self._product * own_probability(token, q))
        return self._product >= self.threshold


def own_probability(token: Tensor, q: Laws) -> float:
    """Returns q(token). A one-hot q is taken at temperature 1; without logits, returns 1."""
    law = q.at_temperature_one() if isinstance(q, OneHot) else q
    return 1.0 if law is None else float(law.of(token))


@dataclass(frozen=True, slots=True)
class Heuristic(Policy):
    """Drafts 2 tokens more after a block that was accepted whole, else 1 fewer.

    transformers calls this schedule "heuristic". A block that drafted nothing changes nothing.

    start: the first block's gamma, at least 1.
    most: the largest gamma, at least start; None: no limit.
    """

    name: ClassVar[str] = "heuristic"
    start: int = 5
    most: int | None = None

    def __post_init__(self) -> None:
        if self.start < 1:
            raise ValueError(f"start must be at least 1, got {self.start}")
        if self.most is not None and self.most < self.start:
            raise ValueError(f"most must be at least start, {self.start}, got {self.most}")

    def gamma(self, blocks: Sequence[Block]) -> int:
        if not blocks:
            return self.start
        # The last block's gamma was this policy's own, or less where the text is about to end
        # and no more than that can be drafted again.
        last = blocks[-1]
        if not last.drafted:
            return last.gamma
        if last.accepted < len(last.drafted):
            return max(last.gamma - 1, 1)
        return last.gamma + 2 if self.most is None else min(last.gamma + 2, self.most)


@dataclass(frozen=True, slots=True)
class Adaptive(Policy):
    """Plans the gamma of each block from an estimate of alpha over the last blocks.

    The estimate is accepted / (accepted + rejected) tokens, the maximum-likelihood estimate for a
    geometric distribution cut off at gamma; a block rejects at most one token. A prior steadies the
    estimate in the first blocks. If bad blocks stopped drafting, the prior makes it start again
    once they have left the window.

    planner: returns gamma, at least 0, for an alpha in [0, 1].
    prior: the first estimate of alpha, in [0, 1].
    prior_tokens: weight of the prior, as a number of accepted or rejected tokens, above 0.
    window: number of last blocks from which alpha is estimated, at least 1.
    """

    name: ClassVar[str] = "adaptive"
    planner: Callable[[float], int]
    prior: float = 0.7
    prior_tokens: float = 8.0
    window: int = 32

    def __post_init__(self) -> None:
        if not 0 <= self.prior <= 1:
            raise ValueError(f"prior must lie in [0, 1], got {self.prior}")
        if not 0 < self.prior_tokens < float("inf"):
            raise ValueError(f"prior_tokens must be finite and above 0, got {self.prior_tokens}")
        if self.window < 1:
            raise ValueError(f"window must be at least 1, got {self.window}")

    def alpha(self, blocks: Sequence[Block]) -> float:
        """Returns the estimate of alpha (`alpha_iid`) from a text's blocks so far."""
        recent = blocks[-self.window :]
        accepted = sum(block.accepted for block in recent)
        rejected = sum(block.accepted < len(block.drafted) for block in recent)
        judged = self.prior_tokens + accepted + rejected
        return (self.prior * self.prior_tokens + accepted) / judged

    def gamma(self, blocks: Sequence[Block]) -> int:
        return self.planner(self.alpha(blocks))
