"""Blocks drawn position by position, with nothing from the closed forms: their oracle.

Each position's β is drawn from its law and each drafted token is accepted with that probability.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.arguments import integer

# Blocks simulated at a time: their arrays stay in the processor's cache.
_AT_A_TIME = 1 << 15


def simulate_blocks(
    betas: Callable[[int], NDArray[np.float64]],
    gamma: int,
    *,
    blocks: int,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Returns how many of some independent blocks of γ drafted tokens yield 1, 2, ... tokens.

    Args:
      betas: draws so many β in [0, 1] of positions, independent of each other and of all before.
      gamma: drafted tokens per block, at least 0.
      blocks: how many to simulate, at least 1.
      generator: draws acceptances; it is advanced.
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
    return counts
