"""Draws the number of blocks of each output before the request is served."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from simulator.traffic.blocks import Blocks

# Requests at a time, so that what is drawn stays small.
_PART = 50_000


def drawn_blocks(
    blocks: Blocks,
    tokens: NDArray[np.int64],
    kinds: NDArray[np.int64],
    gammas: Iterable[int],
    generator: np.random.Generator,
) -> dict[int, NDArray[np.float64]]:
    """Returns the number of blocks that emit each output, by γ, shape (requests,).

    Args:
      blocks: acceptance of drafted tokens, by kind of request.
      tokens: tokens to emit, at least 0, shape (requests,).
      kinds: kind of each request, shape (requests,).
      gammas: drafted tokens per block.
      generator: draws the accepted tokens.
    """
    found = {gamma: np.zeros(len(tokens)) for gamma in gammas}
    for gamma, needed in found.items():
        if gamma == 0:
            needed[:] = tokens
            continue
        for start in range(0, len(tokens), _PART):
            part = slice(start, start + _PART)
            survival = blocks.accepted[kinds[part], : gamma + 1]
            needed[part] = _counted(tokens[part], survival, generator)
    return found


def _counted(
    tokens: NDArray[np.int64], survival: NDArray[np.float64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Returns how many blocks emit each output, drawn at random, shape (requests,).

    In each round, every output takes as many blocks as fit even if each emits γ + 1 tokens, but at
    least one. A binomial number of them accepts the first drafted token, a binomial number of these
    the second, and so on.

    Args:
      tokens: length of each output, shape (requests,).
      survival: probability that at least 0, 1, …, γ drafted tokens are accepted, shape (requests, γ
        + 1).
    """
    left, count = tokens.copy(), np.zeros(len(tokens), dtype=np.int64)
    rates = survival[:, 1:] / np.maximum(survival[:, :-1], 1e-300)
    longest = survival.shape[1]
    places = np.flatnonzero(left > 0)
    while len(places) > 0:
        accepted = np.maximum(left[places] // longest, 1)
        count[places] += accepted
        left[places] -= accepted
        for rate in rates[places].T:
            accepted = generator.binomial(accepted, rate)
            left[places] -= accepted
        places = places[left[places] > 0]
    return count
