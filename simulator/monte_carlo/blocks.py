"""The process itself, drawn at random: blocks, with nothing from the closed forms.

Each position's β is drawn from its law and each drafted token is accepted with that probability.
What comes back are raw counts; means and their standard errors are properties of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.arguments import integer

# Blocks simulated at a time: their arrays stay in the processor's cache.
_AT_A_TIME = 1 << 15


@dataclass(frozen=True, slots=True, eq=False)
class BlockCounts:
    """How often simulated blocks of γ drafted tokens yielded how much.

    counts: shape (γ + 1,); entry t - 1 counts the blocks that yielded t tokens, the target's own
      included.
    """

    counts: NDArray[np.int64]

    @property
    def blocks(self) -> int:
        """Simulated blocks."""
        return int(self.counts.sum())

    @property
    def mean_tokens(self) -> float:
        """Tokens per block: an estimate of E[τ]."""
        # Of integers, so exact: a sum of shares has last bits that depend on the processor.
        return self._sum(1) / self.blocks

    @property
    def mean_tokens_error(self) -> float:
        """Standard error of mean_tokens."""
        spread = self.blocks * self._sum(2) - self._sum(1) ** 2
        return math.sqrt(spread / self.blocks) / self.blocks

    def _sum(self, power: int) -> int:
        return int((self.counts * np.arange(1, len(self.counts) + 1) ** power).sum())


def simulate_blocks(
    betas: Callable[[int], NDArray[np.float64]],
    gamma: int,
    *,
    blocks: int,
    generator: np.random.Generator,
) -> BlockCounts:
    """Returns what independent blocks of γ drafted tokens yield.

    Args:
      betas: draws so many β in [0, 1] of positions, independent of each other and of all before.
      gamma: drafted tokens per block, at least 0.
      blocks: how many to simulate, at least 1.
      generator: of what is accepted; it is advanced.

    Raises:
      ValueError: if gamma or blocks is out of range.
    """
    length = integer("gamma", gamma)
    left = integer("blocks", blocks, at_least=1)
    counts = np.zeros(length + 1, dtype=np.int64)
    while left > 0:
        alive = size = min(left, _AT_A_TIME)
        left -= size
        for position in range(length):
            beta = betas(alive)
            accepted = int(np.count_nonzero(generator.random(alive) < beta))
            counts[position] += alive - accepted
            alive = accepted
        counts[length] += alive
    return BlockCounts(counts)
