"""Walltime and arithmetic in closed form: Leviathan et al. 2023, section 3.

Arguments broadcast: alpha is the acceptance rate in [0, 1]; gamma the drafted tokens per block, an
integer at least 0 (0: do not speculate); c the time of a draft step over the time of a target step,
and c_hat the operations of a draft step over the operations of a target step, both at least 0.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import accepted_tokens
from simulator.numerics.arguments import (
    Floats,
    floats,
    integer,
    integers,
    non_negative,
    probability,
)

# Newton's method converges from above and has all digits after five steps from the start below.
_NEWTON_STEPS = 5
# Where e^u - 1 - u = δ has 1 + u below the rounding of δ, u is log δ.
_LARGE_LOG = 40.0
# Relative gains that rounding could fake: draft lengths that tie in decimals count as a tie.
TIE = 4 * np.finfo(np.float64).eps


def improvement_factor(alpha: ArrayLike, gamma: ArrayLike, c: ArrayLike) -> Floats:
    """Returns the expected speed-up over decoding without speculation; 1 at γ = 0.

        (1 - α^(γ+1)) / ((1 - α)(γc + 1))     (Leviathan et al. 2023, Theorem 8)

    Assumes long texts, and passes over γ + 1 tokens that cost as much as passes over one token.
    """
    rate, length, cost = _checked(alpha=alpha, gamma=gamma, c=c)
    return ((1 + accepted_tokens(rate, length)) / (1 + length * cost))[()]


def lower_bound(alpha: ArrayLike, c: ArrayLike) -> Floats:
    """Returns a lower bound of the speed-up at the best γ.

        (1 + α) / (1 + c) if α > c            (Leviathan et al. 2023, Corollary 9)

    If α ≤ c no γ helps, and the bound is 1 (do not speculate).
    """
    rate, cost = _checked(alpha=alpha, c=c)
    return np.maximum(1.0, (1 + rate) / (1 + cost))


def operations_factor(alpha: ArrayLike, gamma: ArrayLike, c_hat: ArrayLike) -> Floats:
    """Returns operations per token with speculation over operations per token without it.

    (1 - α)(γĉ + γ + 1) / (1 - α^(γ+1))   (Leviathan et al. 2023, Theorem 10)
    """
    rate, length, operations = _checked(alpha=alpha, gamma=gamma, c_hat=c_hat)
    return ((length * operations + length + 1) / (1 + accepted_tokens(rate, length)))[()]


def oracle_improvement_factor(alpha: ArrayLike, c: ArrayLike) -> Floats:
    """Returns the speed-up if each block drafts exactly the tokens that will be accepted.

        1/(1 - α) / (1 + c α/(1 - α)) = 1 / (1 - α + αc)

    A block yields 1/(1 - α) tokens (Leviathan et al. 2023, §3.5). All but one are drafted at cost
    c; one target call verifies them. For c ≥ 1 the oracle does not speculate: 1. At α = 1, c = 0
    the speed-up is infinite. The oracle is less than 1/(1 - 1/e) = 1.58 times as fast as the best
    fixed γ.
    """
    rate, cost = _checked(alpha=alpha, c=c)
    with np.errstate(divide="ignore"):
        return np.maximum(1 / (1 - rate + rate * cost), 1.0)[()]


def optimal_gamma(alpha: ArrayLike, c: ArrayLike, *, max_gamma: int) -> NDArray[np.int64]:
    """Returns the smallest integer γ ≥ 0 that maximises Theorem 8; 0: do not speculate.

    For real γ the improvement factor has one maximum, at

        γ* = u / L - 1,   u = -K - W₋₁(-e^(-K)),   L = -ln α,   K = 1 + L (1/c - 1)

    where W₋₁ is the lower branch of the Lambert W function (derivative of Leviathan et al. 2023,
    Theorem 8, set to 0). The integer optimum is a neighbour of γ*: the larger one if its last token
    gains:  α^γ (1 + (γ-1) c) > c (1 - α^γ) / (1 - α). Where a longer draft is always better (c = 0
    < α, or α = 1 > c), the result is max_gamma, at least 1. It is 0 if α ≤ c (1 + TIE), so that
    a rounding error is not taken for a gain (α = 0.1 + 0.2 does not gain at c = 0.3).
    """
    limit = integer("max_gamma", max_gamma, at_least=1)
    rate, cost = _checked(alpha=alpha, c=c)
    pays = rate > cost * (1 + TIE)
    unbounded = pays & ((cost == 0) | (rate == 1))
    # Harmless values in place of those that the two cases above have settled.
    ordinary = pays & ~unbounded
    rate, cost = np.where(ordinary, rate, 0.5), np.where(ordinary, cost, 0.25)
    decay = -np.log(rate)
    shorter = np.clip(np.floor(_lambert(decay, cost) / decay - 1), 0, limit - 1)
    gain = rate ** (shorter + 1) * (1 + shorter * cost)
    price = cost * (1 + accepted_tokens(rate, shorter))
    # γ = 1 gains wherever any γ gains, even if the last digit of a power disagrees.
    best = np.maximum(shorter + (gain > price * (1 + TIE)), 1)
    return np.where(unbounded, limit, np.where(pays, best, 0)).astype(np.int64)[()]


def _checked(**given: ArrayLike) -> list[Floats]:
    checks: dict[str, Any] = {"alpha": probability, "gamma": integers}
    return floats(
        {name: checks.get(name, non_negative)(name, value) for name, value in given.items()}
    )


def _lambert(decay: Floats, c: Floats) -> Floats:
    """Returns u = -K - W₋₁(-e^(-K)), the positive root of e^u - 1 - u = δ = L (1 - c) / c.

    decay: L = -ln α. K is defined in `optimal_gamma`. The argument -e^(-K) underflows for K > 745,
    and near K = 1, W₋₁ differs from -K only by rounding. So Newton's method solves the equation
    for u. If δ is so large that it may overflow, the result is log δ.
    """
    log_delta = np.log(decay) + np.log1p(-c) - np.log(c)
    delta = np.exp(np.minimum(log_delta, _LARGE_LOG))
    # e^u - 1 - u >= u²/2 bounds u from above, and log(1 + δ + bound) does so more tightly.
    bound = np.sqrt(2 * delta)
    u = np.log1p(delta + bound)
    for _ in range(_NEWTON_STEPS):
        grown = np.expm1(u)
        u = u - (grown - u - delta) / grown
    return np.where(log_delta < _LARGE_LOG, u, log_delta)
