"""Texts of finite length, for which Theorem 8 of Leviathan et al. 2023 is the limit.

The paper notes that Theorem 8 needs long generations: the factor is capped by the number of
tokens, as the target runs at least once. Here the last block drafts no more than can be emitted
beside the target's own token, so that with n tokens left the expected cost is, exactly,

    W(n) = price(g) + (1 - α) Σ_{k<g} α^k W(n-k-1) + α^g W(n-g-1),   g = min(γ, n - 1),   W(0) = 0
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.curves import CostModel
from simulator.numerics.arguments import integers, non_negative, probability, same_shape


def finite_calls(alpha: ArrayLike, gamma: ArrayLike, *, length: ArrayLike) -> NDArray[np.float64]:
    """Returns the expected number of target calls for a text; the prompt's own pass is not one.

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, at least 0; all three broadcast.
      length: tokens of the text, at least 1.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    return _finite(alpha, gamma, length, np.ones_like)


def finite_seconds(
    alpha: ArrayLike, gamma: ArrayLike, *, cost: CostModel, length: ArrayLike
) -> NDArray[np.float64]:
    """Returns the expected time of decoding a text, prefill apart.

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, at least 0; broadcasts with alpha and length.
      cost: prices a block of g drafted tokens at cost.block_seconds(g).
      length: tokens of the text, at least 1.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    return _finite(alpha, gamma, length, cost.block_seconds)


def finite_improvement_factor(
    alpha: ArrayLike,
    gamma: ArrayLike,
    *,
    cost: CostModel,
    length: ArrayLike,
    target_prefill_seconds: float = 0.0,
    draft_prefill_seconds: float = 0.0,
) -> NDArray[np.float64]:
    """Returns the expected speed-up of a text, prefill included where it is given.

        (prefill_p + N (t_p(1) + t_b)) / (prefill_p + prefill_q + W(N))

    At γ = 0 (do not speculate) it is 1.

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, at least 0; broadcasts with alpha and length.
      cost: seconds of blocks and of the baseline.
      length: N, tokens of the text, at least 1.
      target_prefill_seconds, draft_prefill_seconds: the prompt's pass through each model, which
        speculation pays both of and the baseline only the first.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    prompt = non_negative("target_prefill_seconds", target_prefill_seconds)
    extra = non_negative("draft_prefill_seconds", draft_prefill_seconds)
    seconds = finite_seconds(alpha, gamma, cost=cost, length=length)
    baseline = np.asarray(length) * cost.baseline_seconds
    factor = (prompt + baseline) / (prompt + extra + seconds)
    return np.where(np.asarray(gamma) == 0, 1.0, factor)[()]


def remaining_costs(
    alpha: NDArray[np.float64], prices: NDArray[np.float64], length: int
) -> NDArray[np.float64]:
    """Returns W(0), …, W(length) for arrays already checked.

    Args:
      alpha: acceptance rates, shape (...).
      prices: of blocks that draft 0, …, γ tokens, shape (γ + 1, ...); its other axes broadcast with
        alpha.
      length: at least 0.

    Returns:
      shape (length + 1, ...) of all axes broadcast.
    """
    gamma = len(prices) - 1
    shape = np.broadcast_shapes(alpha.shape, prices.shape[1:])
    costs = np.zeros((length + 1, *shape))
    full = alpha**gamma
    # Σ_{k<γ} α^k W(n-k-1), with W = 0 before the start, from one n to the next.
    weighted = np.zeros(shape)
    for n in range(1, length + 1):
        beyond = costs[n - gamma - 1] if n > gamma else 0.0
        costs[n] = prices[min(gamma, n - 1)] + (1 - alpha) * weighted + full * beyond
        leaving = costs[n - gamma] if n >= gamma else 0.0
        weighted = costs[n] + alpha * weighted - full * leaving
    return costs


def text_costs(
    alpha: NDArray[np.float64],
    gamma: NDArray[np.int64],
    length: NDArray[np.int64],
    prices: Callable[[int, NDArray[np.bool_]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Returns W(length) of each text, for arrays already checked, of one shape (n,).

    Args:
      prices: called with a γ and the texts that have it, returns what their blocks cost that draft
        0, …, γ tokens, shape (γ + 1, 1) or (γ + 1, number of those texts).
    """
    total = np.empty(alpha.shape)
    for value in np.unique(gamma):
        chosen = gamma == value
        costs = remaining_costs(
            alpha[chosen], prices(int(value), chosen), int(length[chosen].max())
        )
        total[chosen] = costs[length[chosen], np.arange(costs.shape[1])]
    return total


def _finite(
    alpha: ArrayLike,
    gamma: ArrayLike,
    length: ArrayLike,
    price: Callable[[NDArray[np.int64]], NDArray[np.float64] | NDArray[np.int64]],
) -> NDArray[np.float64]:
    arguments = {
        "alpha": probability("alpha", alpha),
        "gamma": integers("gamma", gamma),
        "length": integers("length", length, at_least=1),
    }
    shape = same_shape(arguments)
    rates, gammas, lengths = (
        np.broadcast_to(array, shape).ravel() for array in arguments.values()
    )

    def prices(value: int, _: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.asarray(price(np.arange(value + 1)), dtype=np.float64)[:, np.newaxis]

    return text_costs(rates, gammas, lengths, prices).reshape(shape)[()]
