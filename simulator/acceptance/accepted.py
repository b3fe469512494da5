"""One count of accepted drafts: a log's, a run's, a published one; with its error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.conversions import alpha_from_block_efficiency, conditional_acceptance
from simulator.numerics.arguments import integer

# Blocks that are assumed where their number is not known: of 8 prompts of 64 tokens.
USUAL_DRAFTS = 180
# Blocks of one text are alike: a mean over texts varies by this factor more than one over as many
# independent blocks. With USUAL_DRAFTS a length of 2.85 at γ 3 has an error of 5 %.
_ALIKE = 2.6
# Least standard deviation of the logarithm of a length, as rounding in print leaves.
_PRINTED = 1e-3


@dataclass(frozen=True, slots=True)
class Accepted:
    """Counts of drafts at one γ.

    gamma: drafted tokens a block, at least 1.
    length: tokens a block, the target's own included, in [1, γ + 1].
    rates: how often positions 1 to γ stood, counting all blocks; empty: not counted.
    drafts: how many blocks; None: not known.
    context: tokens in each sequence's cache; None: not known.
    error: further standard deviation of the logarithm of the length, as where blocks were not
      counted.
    """

    gamma: int
    length: float
    rates: tuple[float, ...] = ()
    drafts: float | None = None
    context: int | None = None
    error: float = 0.0

    def __post_init__(self) -> None:
        gamma = integer("gamma", self.gamma, at_least=1)
        if not 1 <= self.length <= gamma + 1:
            raise ValueError(
                f"length must lie in [1, {gamma + 1}], gamma + 1, at gamma {gamma}, "
                f"got {self.length:g}"
            )
        if self.rates and len(self.rates) != gamma:
            raise ValueError(f"rates must be {gamma}, one for each position, got {len(self.rates)}")

    @classmethod
    def of_rates(
        cls, rates: ArrayLike, *, drafts: float | None = None, context: int | None = None
    ) -> Accepted:
        """Returns the count of unconditional rates by position, shape (γ,)."""
        conditional_acceptance(rates)
        listed = tuple(np.asarray(rates, dtype=np.float64).tolist())
        return cls(len(listed), 1 + sum(listed), listed, drafts, context)

    @classmethod
    def of_fraction(cls, fraction: float, gamma: int, drafted: float | None = None) -> Accepted:
        """Returns the count of accepted over drafted tokens, all blocks of γ tokens.

        A number of drafted tokens that γ does not divide shows that some blocks were shorter: then
        the number of blocks is in doubt.

        Args:
          fraction: in [0, 1].
          drafted: tokens; None: not known.
        """
        if drafted is None or drafted % gamma == 0:
            drafts = None if drafted is None else drafted / gamma
            return cls(gamma, 1 + gamma * fraction, drafts=drafts)
        calls, error = unknown_calls(drafted, gamma)
        return cls.of_calls(fraction * drafted, calls, gamma, error)

    @classmethod
    def of_calls(cls, accepted: float, calls: float, gamma: int, error: float = 0.0) -> Accepted:
        """Returns the count of accepted tokens in so many blocks.

        calls: blocks; error: standard deviation of the logarithm of their number.
        """
        length = 1 + accepted / calls
        return cls(gamma, length, drafts=calls, error=error * (1 - 1 / length))

    @property
    def weight(self) -> float:
        """How many blocks it counts for."""
        return USUAL_DRAFTS if self.drafts is None else max(self.drafts, 1.0)

    @property
    def gammas(self) -> NDArray[np.int64]:
        """The γ whose lengths it has: all up to its own where positions were counted."""
        return np.arange(1, self.gamma + 1) if self.rates else np.array([self.gamma])

    @property
    def logs(self) -> NDArray[np.float64]:
        """Logarithms of those lengths."""
        lengths = 1 + np.cumsum(self.rates) if self.rates else np.array([self.length])
        return np.asarray(np.log(lengths))

    def noise(self) -> NDArray[np.float64]:
        """Returns the covariance of those logarithms by the number of blocks.

        The first min(N, γ) positions of a block are accepted. E[min(N, i) min(N, j)] is the sum
        of P(N >= max(k, l)) over k <= i and l <= j. Rates not counted are taken as equal.
        """
        rates = np.array(self.rates)
        if not self.rates:
            alpha = alpha_from_block_efficiency(self.length, self.gamma)
            rates = float(alpha) ** np.arange(1, self.gamma + 1)
        # Half a block of each kind, so that rates of 0 and 1 are in doubt, too.
        rates = (self.weight * rates + 0.5) / (self.weight + 1)
        both = np.minimum(rates[:, None], rates)
        squares = both.cumsum(axis=0).cumsum(axis=1)
        means = rates.cumsum()
        spread = _ALIKE * (squares - np.outer(means, means)) / self.weight
        lengths = np.exp(self.logs)
        own = spread if self.rates else spread[-1:, -1:]
        further = _PRINTED**2 * np.eye(len(own)) + self.error**2
        return np.asarray(own / np.outer(lengths, lengths) + further)


def unknown_calls(drafted: float, gamma: int) -> tuple[int, float]:
    """Returns a likely number of blocks of 1 to γ tokens, and the deviation of its logarithm.

    Blocks are at least drafted / γ and at most as many as tokens; the logarithm of their number is
    taken as uniform between.
    """
    least, most = max(drafted / gamma, 1.0), max(drafted, 1.0)
    return max(1, round(math.sqrt(least * most))), math.log(most / least) / math.sqrt(12)
