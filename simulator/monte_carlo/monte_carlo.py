"""The process itself, drawn at random: blocks and whole texts, with nothing from the closed forms.

Each position's β is drawn from its law and each drafted token is accepted with that probability.
What comes back are raw counts; means, factors and their standard errors are properties of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.beta_laws import AcceptanceLaw
from simulator.numerics.arguments import integer, non_negative, probability

# Blocks simulated at a time: their arrays stay in the processor's cache.
_AT_A_TIME = 1 << 15


@dataclass(frozen=True, slots=True, eq=False)
class BlockCounts:
    """How often simulated blocks drafted and yielded how much.

    counts: shape (γ + 1, γ + 2); entry (d, t) counts the blocks that drafted d tokens and yielded
      t, the target's own included.
    """

    counts: NDArray[np.int64]

    @property
    def blocks(self) -> int:
        """Simulated blocks."""
        return int(self.counts.sum())

    @property
    def tokens_distribution(self) -> NDArray[np.float64]:
        """Share of blocks that yielded 1, …, γ + 1 tokens."""
        return np.asarray(self.counts.sum(axis=0)[1:] / self.blocks)

    @property
    def mean_tokens(self) -> float:
        """Tokens per block: an estimate of E[τ]."""
        return self._sum(self._tokens) / self.blocks

    @property
    def mean_drafted(self) -> float:
        """Drafted tokens per block."""
        return self._sum(self._drafted) / self.blocks

    @property
    def mean_tokens_error(self) -> float:
        """Standard error of mean_tokens."""
        return self._error(self._tokens)

    @property
    def mean_drafted_error(self) -> float:
        """Standard error of mean_drafted."""
        return self._error(self._drafted)

    @property
    def accepted_fraction(self) -> float:
        """Accepted over drafted tokens; NaN if nothing was drafted."""
        drafted = self._sum(self._drafted)
        return (self._sum(self._tokens) - self.blocks) / drafted if drafted > 0 else float("nan")

    def improvement_factor(self, c: float) -> float:
        """Returns tokens over time, 1 + c·drafted a block: an estimate of the speed-up."""
        return self.mean_tokens / (1 + float(non_negative("c", c)) * self.mean_drafted)

    def improvement_error(self, c: float) -> float:
        """Returns the standard error of improvement_factor, that of a ratio of means."""
        factor = self.improvement_factor(c)
        deviations = self._tokens - factor * (1 + c * self._drafted)
        squares = float((np.square(deviations) * self.counts).sum())
        return math.sqrt(squares) / self.blocks / (1 + c * self.mean_drafted)

    @property
    def _drafted(self) -> NDArray[np.int64]:
        return np.arange(self.counts.shape[0])[:, None]

    @property
    def _tokens(self) -> NDArray[np.int64]:
        return np.arange(self.counts.shape[1])

    def _sum(self, each: NDArray[np.int64]) -> int:
        # Of integers, so exact: a sum of shares has last bits that depend on the processor.
        return int((each * self.counts).sum())

    def _error(self, each: NDArray[np.int64]) -> float:
        spread = self.blocks * self._sum(each * each) - self._sum(each) ** 2
        return math.sqrt(spread / self.blocks) / self.blocks


@dataclass(frozen=True, slots=True, eq=False)
class TextCounts:
    """What each simulated text needed, shape (texts,) each.

    calls: target calls, the prompt's own pass apart.
    drafted: drafted tokens.
    """

    calls: NDArray[np.int64]
    drafted: NDArray[np.int64]


def simulate_blocks(
    law: AcceptanceLaw,
    gamma: int,
    *,
    blocks: int,
    generator: np.random.Generator,
) -> BlockCounts:
    """Returns what independent blocks of γ drafted tokens yield.

    Args:
      law: of β at each position, all independent.
      gamma: drafted tokens per block, at least 0.
      blocks: how many to simulate, at least 1.
      generator: source of randomness; it is advanced.

    Raises:
      ValueError: if gamma or blocks is out of range.
    """
    length = integer("gamma", gamma)
    left = integer("blocks", blocks, at_least=1)
    counts = np.zeros((length + 1, length + 2), dtype=np.int64)
    while left > 0:
        alive = size = min(left, _AT_A_TIME)
        left -= size
        for position in range(1, length + 1):
            beta = law.sample(generator, alive)
            accepted = int(np.count_nonzero(generator.random(alive) < beta))
            counts[length, position] += alive - accepted
            alive = accepted
        counts[length, length + 1] += alive
    return BlockCounts(counts)


def simulate_policy(
    law: AcceptanceLaw,
    gamma: int,
    *,
    position_threshold: float,
    survival_threshold: float,
    blocks: int,
    generator: np.random.Generator,
) -> BlockCounts:
    """Returns what blocks yield that stop drafting on forecasts of β (`simulator.choice.varying`).

    Drafting goes on while the position's β and the product of the block's β are at least their
    thresholds, whether or not a token before was accepted: the decoder learns that only later.

    Args:
      law: of β at each position, all independent, known before the position is drafted.
      gamma: most tokens drafted, at least 0.
      position_threshold, survival_threshold: in [0, 1]; 0 never stops.
      blocks: how many to simulate, at least 1.
      generator: source of randomness; it is advanced.

    Raises:
      ValueError: if an argument is out of range.
    """
    length = integer("gamma", gamma)
    least = float(probability("position_threshold", position_threshold))
    least_product = float(probability("survival_threshold", survival_threshold))
    left = integer("blocks", blocks, at_least=1)
    counts = np.zeros((length + 1, length + 2), dtype=np.int64)
    while left > 0:
        size = min(left, _AT_A_TIME)
        left -= size
        product = np.ones(size)
        tokens = np.ones(size, dtype=np.int64)
        alive = np.ones(size, dtype=np.bool_)
        for position in range(length):
            beta = law.sample(generator, len(product))
            product = product * beta
            goes_on = (beta >= least) & (product >= least_product)
            counts[position] += np.bincount(tokens[~goes_on], minlength=length + 2)
            product, tokens, alive = product[goes_on], tokens[goes_on], alive[goes_on]
            alive &= generator.random(len(product)) < beta[goes_on]
            tokens += alive
        counts[length] += np.bincount(tokens, minlength=length + 2)
    return BlockCounts(counts)


def simulate_texts(
    law: AcceptanceLaw,
    gamma: int,
    *,
    length: int,
    texts: int,
    generator: np.random.Generator,
) -> TextCounts:
    """Returns what texts of finite length need, block after block.

    The last block drafts no more than can be emitted beside the target's own token.

    Args:
      law: of β at each position, all independent.
      gamma: most tokens that a block drafts, at least 0.
      length: tokens of each text, at least 1.
      texts: how many to simulate, at least 1.
      generator: source of randomness; it is advanced.

    Raises:
      ValueError: if an argument is out of range.
    """
    longest = integer("gamma", gamma)
    size = integer("texts", texts, at_least=1)
    remaining = np.full(size, integer("length", length, at_least=1))
    calls = np.zeros(size, dtype=np.int64)
    drafted = np.zeros(size, dtype=np.int64)
    while (active := np.flatnonzero(remaining)).size > 0:
        lengths = np.minimum(longest, remaining[active] - 1)
        accepted = np.zeros(len(active), dtype=np.int64)
        alive = np.ones(len(active), dtype=np.bool_)
        for position in range(int(lengths.max())):
            beta = law.sample(generator, len(active))
            alive &= (position < lengths) & (generator.random(len(active)) < beta)
            accepted += alive
        calls[active] += 1
        drafted[active] += lengths
        remaining[active] -= accepted + 1
    return TextCounts(calls=calls, drafted=drafted)


def sticky_betas(
    law: AcceptanceLaw,
    *,
    persistence: float,
    positions: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Returns β along a text whose positions resemble their neighbours, shape (positions,).

    Each β is that of the position before with probability `persistence`, else a fresh draw, so that
    every one has the given law. No closed form covers what blocks then yield; `replay`
    does, for the path drawn.

    Args:
      law: of β at every position.
      persistence: in [0, 1]; 0 is the i.i.d. assumption.
      positions: at least 1.
      generator: source of randomness; it is advanced.

    Raises:
      ValueError: if an argument is out of range.
    """
    count = integer("positions", positions, at_least=1)
    stays = generator.random(count) < float(probability("persistence", persistence))
    stays[0] = False
    return law.sample(generator, count)[np.maximum.accumulate(np.where(stays, 0, np.arange(count)))]
