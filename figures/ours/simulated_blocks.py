"""Simulates blocks at random, without the closed forms: raw counts and their means."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.divergence import checked_laws
from simulator.numerics.arguments import integer


@dataclass(frozen=True, slots=True, eq=False)
class BlockCounts:
    """Counts of simulated blocks with γ drafted tokens, by the tokens they yielded.

    counts: shape (γ + 1,); entry t - 1 counts the blocks that yielded t tokens, the target's own
      included.
    """

    counts: NDArray[np.int64]

    @property
    def blocks(self) -> int:
        return int(self.counts.sum())

    @property
    def mean_tokens(self) -> float:
        """Tokens per block: an estimate of E[τ]."""
        # A quotient of exact integers; the last bits of a sum of shares depend on the processor.
        return self._sum(1) / self.blocks

    @property
    def mean_tokens_error(self) -> float:
        spread = self.blocks * self._sum(2) - self._sum(1) ** 2
        return math.sqrt(spread / self.blocks) / self.blocks

    def _sum(self, power: int) -> int:
        return int((self.counts * np.arange(1, len(self.counts) + 1) ** power).sum())


def simulate_block_verification(
    p: ArrayLike,
    q: ArrayLike,
    gamma: int,
    *,
    blocks: int,
    generator: np.random.Generator,
) -> BlockCounts:
    """Returns counts of blocks whose positions are drawn independently from given pairs (p, q).

    The gain of block verification does not follow from α, nor from the distribution of β, because
    the effect of a ratio above 1 depends on both p and q. So it is simulated.

    Args:
      p, q: the target's and the draft's distributions, shape (pairs, vocabulary). Each position of
        each block has one pair of rows, all equally likely.
      gamma: drafted tokens per block, at least 0.
      blocks: how many to simulate, at least 1.
      generator: source of randomness; it is advanced.

    Raises ValueError if a row is not a law, shapes differ, or a number is out of range.
    """
    target, draft = checked_laws(p, q)
    if target.ndim != 2 or target.shape != draft.shape:
        raise ValueError(
            f"p and q must have one shape (pairs, vocabulary), got {target.shape} and {draft.shape}"
        )
    length = integer("gamma", gamma)
    size = integer("blocks", blocks, at_least=1)
    drawn_by = np.cumsum(draft, axis=1)
    share = np.ones(size)
    accepted = np.zeros(size, dtype=np.int64)
    for position in range(length + 1):
        pair = generator.integers(len(target), size=size)
        if position == length:
            stands = generator.random(size) < share
        else:
            over = target[pair]
            over *= share[:, None]
            over -= draft[pair]
            left = over.clip(0.0, out=over).sum(axis=1)
            stands = generator.random(size) * (left + 1 - share) < left
        accepted[stands] = position
        if position < length:
            uniform = generator.random(size) * drawn_by[pair, -1]
            token = np.count_nonzero(drawn_by[pair] <= uniform[:, None], axis=1)
            share = np.minimum(1.0, share * target[pair, token] / draft[pair, token])
    return BlockCounts(np.bincount(accepted, minlength=length + 1))
