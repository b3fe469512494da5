"""Verification by rank: the server verifies the drafted tokens most likely to be accepted.

vLLM's adaptive verification (pull requests 47808 and 52228; release 0.32,
v1/worker/gpu/spec_decode/adaptive_verification.py) drafts K tokens for each sequence, ranks all of
them by survival (the product of a sequence's confidences), and verifies the first tokens of the
ranking, up to a budget. Two ways to choose the budget are lossless:

    walk            down the ranking, to the first token that lowers the speed
    previous step   the best budget for the confidences of the step before (vLLM)

The walk decides about a token from higher-ranked tokens only, so the token's own draw has no
influence. The best budget for the step's own ranking depends on confidences after a token, so on
the token itself, and would change the output.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simulator.cost.cost import Cost
from simulator.cost.wall import Wall

Budget = Literal["walk", "previous step"]
BUDGETS: tuple[Budget, ...] = ("walk", "previous step")


def step_seconds(
    cost: Cost, gamma: int, batch: int, wall: Wall | None = None
) -> NDArray[np.float64]:
    """Returns the time of a step without its drafting, by number of verified tokens in the batch.

    Shape (batch * gamma + 1,), linear between equal numbers of tokens for each sequence.

    Args:
      cost: times of blocks, each block a pass over the whole batch.
      gamma: drafted tokens of each sequence, at least 1.
      wall: steps beyond it are infinitely slow, unless a baseline step is beyond it, too.
    """
    each = np.arange(batch * gamma + 1) / batch
    seconds = np.interp(each, np.arange(gamma + 1), cost.checking_seconds(np.arange(gamma + 1)))
    return seconds if wall is None else np.where(wall.crossed(batch, each), np.inf, seconds)


def walked(survival: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns how many tokens the walk down the ranking verifies, shape (...).

    The walk goes on while the next token does not lower the expected tokens per second.

    Args:
      survival: the server's estimate, before the draw, of the probability that each drafted token
        is accepted; not rising along a sequence, shape (..., batch, gamma).
      seconds: time of a step, drafting included, by verified tokens; rising, above 0, shape (batch
        * gamma + 1,).
    """
    rates = _rates(survival, seconds)
    pays = np.diff(rates, axis=-1) >= 0
    return np.asarray(pays.cumprod(axis=-1).sum(axis=-1))


def best_budget(survival: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns the number of verified tokens with the most expected tokens per second.

    Arguments as in `walked`. The budget is lossless for the next step's ranking, not for its own.
    """
    return np.asarray(_rates(survival, seconds).argmax(axis=-1))


def verified_lengths(survival: NDArray[np.float64], budget: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns how many drafted tokens of each sequence are verified, shape (..., batch).

    survival: see `walked`; budget: verified tokens of the whole batch, shape (...).
    """
    *runs, batch, gamma = survival.shape
    order = np.argsort(-survival.reshape(*runs, batch * gamma), axis=-1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(batch * gamma), axis=-1)
    return np.asarray((rank < budget[..., None]).reshape(survival.shape).sum(axis=-1))


def _rates(survival: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the expected tokens per second by budget, shape (..., batch * gamma + 1)."""
    *runs, batch, gamma = survival.shape
    ranked = -np.sort(-survival.reshape(*runs, batch * gamma), axis=-1)
    gained = np.concatenate([np.zeros((*runs, 1)), ranked.cumsum(axis=-1)], axis=-1)
    return np.asarray((batch + gained) / seconds)
