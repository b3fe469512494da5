"""Counts of accepted tokens from one log, run or publication, with their error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import alpha_from_block_efficiency
from simulator.numerics.arguments import Floats, integer, probability

# Assumed number of blocks if it is not known: the blocks of 8 outputs of 64 tokens.
USUAL_DRAFTS = 180
# Blocks of one text are similar: a mean over them varies more, by this factor, than over as many
# independent blocks. With USUAL_DRAFTS a length of 2.85 at γ 3 has an error of 5 %.
ALIKE = 2.6
# Least standard deviation of the logarithm of a length, as rounding in print leaves.
_PRINTED = 1e-3
# If the mean draft is shorter than γ by more than this, drafts ended early.
_EARLY = 0.1


@dataclass(frozen=True, slots=True)
class Accepted:
    """Counts of drafts at one γ; fields are None or empty if they are not known.

    gamma: drafted tokens per block, at least 1.
    length: mean tokens per block, the target's own token included, in [1, γ + 1].
    rates: share of all blocks that accepted the token at each position from 1 to γ.
    drafts, context: number of blocks, and tokens in each sequence's cache.
    error: additional standard deviation of log(length), for example if blocks were not counted.
    drafted: mean drafted tokens per block if drafts ended early; None if blocks drafted γ tokens.
    """

    gamma: int
    length: float
    rates: tuple[float, ...] = ()
    drafts: float | None = None
    context: int | None = None
    error: float = 0.0
    drafted: float | None = None

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
        cls, rates: ArrayLike, *, drafts: float | None = None, drafted: float | None = None
    ) -> Accepted:
        """Returns counts with these `rates`, shape (γ,); drafted: drafted tokens of all blocks."""
        listed = tuple(probability("position_acceptance", rates).tolist())
        for before, rate in pairwise(listed):
            if rate > before:
                raise ValueError(
                    "position_acceptance must not rise from one position to the next, "
                    f"got {rate} after {before}"
                )
        early = _early(drafted, drafts, len(listed))
        return cls(len(listed), 1 + sum(listed), listed, drafts, drafted=early)

    @classmethod
    def of_fraction(cls, fraction: float, gamma: int, drafted: float | None = None) -> Accepted:
        """Returns counts made from the fraction of drafted tokens that were accepted, in [0, 1].

        drafted: drafted tokens of all blocks together. If it is not a multiple of γ, some blocks
        were shorter, and the number of blocks is uncertain.
        """
        if drafted is None or drafted % gamma == 0:
            drafts = None if drafted is None else drafted / gamma
            return cls(gamma, 1 + gamma * fraction, drafts=drafts)
        calls, error = unknown_calls(drafted, gamma)
        return cls.of_calls(fraction * drafted, calls, gamma, error, drafted)

    @classmethod
    def of_calls(
        cls,
        accepted: float,
        calls: float,
        gamma: int,
        error: float = 0.0,
        drafted: float | None = None,
    ) -> Accepted:
        """Returns counts made from numbers of accepted tokens, blocks (`calls`) and drafted tokens.

        error: standard deviation of log(calls). drafted: drafted tokens of all blocks together.
        """
        length = 1 + accepted / calls
        error, early = error * (1 - 1 / length), _early(drafted, calls, gamma)
        return cls(gamma, length, drafts=calls, error=error, drafted=early)

    @property
    def weight(self) -> float:
        """Weight in averages over counts: the number of blocks, or USUAL_DRAFTS if not known."""
        return USUAL_DRAFTS if self.drafts is None else max(self.drafts, 1.0)

    @property
    def gammas(self) -> NDArray[np.int64]:
        """Each γ with a known mean length: 1 to `gamma` if positions were counted, else `gamma`."""
        return np.arange(1, self.gamma + 1) if self.rates else np.array([self.gamma])

    @property
    def logs(self) -> Floats:
        """Logarithm of the mean tokens per block at each of `gammas`."""
        lengths = 1 + np.cumsum(self.rates) if self.rates else np.array([self.length])
        return np.asarray(np.log(lengths))

    def noise(self) -> Floats:
        """Returns the covariance of the sampling errors of `logs`, shape (n, n).

        Without `rates`, all positions are assumed to have one rate. If a block accepts N tokens,
        E[min(N, i) min(N, j)] = Σ_{k≤i} Σ_{l≤j} P(N >= max(k, l)).
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
        spread = ALIKE * (squares - np.outer(means, means)) / self.weight
        lengths = np.exp(self.logs)
        covariance = spread if self.rates else spread[-1:, -1:]
        further = _PRINTED**2 * np.eye(len(covariance)) + self.error**2
        # Full drafts: none to all of the tokens that were not drafted would have been accepted.
        left_out = 0 if self.drafted is None else np.maximum(self.gammas - self.drafted, 0)
        missed = np.log1p(left_out / lengths) / math.sqrt(12)
        return np.asarray(
            covariance / np.outer(lengths, lengths) + further + np.outer(missed, missed)
        )


def _early(drafted: float | None, drafts: float | None, gamma: int) -> float | None:
    """Returns drafted tokens per block, drafted / drafts, if drafts ended early; else None."""
    mean = gamma if drafted is None or not drafts else drafted / drafts
    return mean if mean < gamma - _EARLY else None


def unknown_calls(drafted: float, gamma: int) -> tuple[int, float]:
    """Returns a likely number of blocks, and the standard deviation of its logarithm.

    drafted: drafted tokens of all blocks together; each block drafted 1 to γ. The logarithm of the
    number of blocks is assumed to be uniform between log(drafted / γ) and log(drafted).
    """
    least, most = max(drafted / gamma, 1.0), max(drafted, 1.0)
    return max(1, round(math.sqrt(least * most))), math.log(most / least) / math.sqrt(12)
