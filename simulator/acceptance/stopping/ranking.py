"""Verification by rank: the drafted tokens of a batch that are likeliest to be reached.

vLLM's adaptive verification (pull requests 47808 and 52228; release 0.32,
v1/worker/gpu/spec_decode/adaptive_verification.py) drafts K tokens for each sequence, ranks all of
them by survival, the product of a sequence's confidences, and verifies as many of the first as a
budget allows. Servers may choose the budget in two lossless ways:

    walk            down the ranking, to the first token that does not pay
    previous step   what would have been best for the confidences of the step before (vLLM)

A token of the walk is chosen by what ranks above it, which its own draw does not change. The best
budget for the step's own ranking looks ahead: it depends on the confidences that follow a token,
so on the token itself, and changes the output.
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
    """Returns the time of a step without its drafting, by verified tokens of the whole batch.

    Linear between numbers that verify the same for each sequence; shape (batch * gamma + 1,).

    Args:
      cost: times of blocks, each block a pass over the whole batch.
      gamma: drafted tokens of each sequence, at least 1.
      wall: steps beyond it take forever, unless the baseline's are beyond, too.
    """
    each = np.arange(batch * gamma + 1) / batch
    seconds = np.interp(each, np.arange(gamma + 1), cost.checking_seconds(np.arange(gamma + 1)))
    return seconds if wall is None else np.where(wall.crossed(batch, each), np.inf, seconds)


def walked(survival: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns how many tokens the walk down the ranking verifies, shape (...).

    It goes on while the next token does not lower the expected tokens of a second.

    Args:
      survival: chances that each drafted token is reached and right, as the server estimates them
        before it draws the token; at each sequence not ascending, shape (..., batch, gamma).
      seconds: time of a step by verified tokens, the drafting included; ascending, above 0, shape
        (batch * gamma + 1,).
    """
    rates = _rates(survival, seconds)
    pays = np.diff(rates, axis=-1) >= 0
    return np.asarray(pays.cumprod(axis=-1).sum(axis=-1))


def best_budget(survival: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns the number of tokens with the most expected tokens a second; see `walked`.

    Lossless for the next step's ranking, not for its own.
    """
    return np.asarray(_rates(survival, seconds).argmax(axis=-1))


def verified_lengths(survival: NDArray[np.float64], budget: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns how many drafted tokens of each sequence are verified, shape (..., batch).

    budget: verified tokens of the whole batch, shape (...); survival: as `walked` takes it.
    """
    *runs, batch, gamma = survival.shape
    order = np.argsort(-survival.reshape(*runs, batch * gamma), axis=-1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(batch * gamma), axis=-1)
    return np.asarray((rank < budget[..., None]).reshape(survival.shape).sum(axis=-1))


def _rates(survival: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns expected tokens a second by budget, shape (..., batch * gamma + 1)."""
    *runs, batch, gamma = survival.shape
    ranked = -np.sort(-survival.reshape(*runs, batch * gamma), axis=-1)
    gained = np.concatenate([np.zeros((*runs, 1)), ranked.cumsum(axis=-1)], axis=-1)
    return np.asarray((batch + gained) / seconds)
