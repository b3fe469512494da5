"""Tokens per target call by Eq. 1 of Leviathan et al. 2023, and α from the numbers servers print.

Most servers call accepted over drafted tokens the acceptance rate. That number falls with γ and is
not α. An α inferred from counts equals E[β] only if the β of all positions are independent and
identically distributed (Leviathan et al. 2023, §3.1). Elsewhere it is called alpha_iid.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from simulator.numerics.arguments import (
    Floats,
    floats,
    integers,
    non_negative,
    probability,
    same_shape,
)

# Replaces log(0): far below any logarithm that matters, yet finite, so that 0 times it is 0.
_LOG_ZERO = -1e308
# Each step halves the bracket: this many leave less than float64 resolves of a bracket within
# [0, 1] whose root is not tiny.
_STEPS = 64


def expected_tokens(alpha: ArrayLike, gamma: ArrayLike) -> Floats:
    """Returns the mean number of tokens that one target call yields.

        E[τ] = (1 - α^(γ+1)) / (1 - α)        (Leviathan et al. 2023, Eq. 1)

    alpha: acceptance rate in [0, 1]; gamma: drafted tokens per block, at least 0. They broadcast.
    """
    arguments = {"alpha": probability("alpha", alpha), "gamma": integers("gamma", gamma)}
    return tokens_formula(*floats(arguments))[()]


def tokens_formula(alpha: Floats, gamma: Floats) -> Floats:
    """Returns the mean tokens per call by Eq. 1, without checking the arrays.

    The accepted tokens are α (1 - α^γ) / (1 - α) with 1 - α^γ from expm1: 1 - α is exact near 1,
    but the plain difference 1 - α^γ would lose all digits there.
    """
    return 1 + _accepted(alpha, gamma)


def _accepted(alpha: Floats, gamma: Floats) -> Floats:
    with np.errstate(divide="ignore", over="ignore"):
        exponent = gamma * np.maximum(np.log(alpha), _LOG_ZERO)
    rest = 1 - alpha
    certain = rest == 0
    return np.where(certain, gamma, -alpha * np.expm1(exponent) / np.where(certain, 1.0, rest))


def accepted_fraction(alpha: Floats, gamma: Floats) -> Floats:
    """Returns accepted over drafted tokens, (α + … + α^γ) / γ, without checking the arrays."""
    return _accepted(alpha, gamma) / gamma


def alpha_from_accepted_fraction(fraction: ArrayLike, gamma: ArrayLike) -> Floats:
    """Returns the α at which accepted_fraction(α, γ) equals the given fraction.

    fraction: in [0, 1]; gamma: drafted tokens per block, at least 1. They broadcast.
    """
    arguments = {
        "accepted_fraction": probability("accepted_fraction", fraction),
        "gamma": integers("gamma", gamma, at_least=1),
    }
    rate, length = floats(arguments)
    # The mean of α, …, α^γ is at most α and, i ↦ α^i being convex, at least α^((γ+1)/2).
    most = rate ** (2 / (length + 1))
    return bisect(lambda alpha: accepted_fraction(alpha, length) - rate, rate, most)[()]


def alpha_from_block_efficiency(block_efficiency: ArrayLike, gamma: ArrayLike) -> Floats:
    """Returns the α at which expected_tokens(α, γ) equals the given block efficiency.

    block_efficiency: emitted tokens per target call, in [1, γ + 1]; broadcasts with gamma.
    """
    efficiency = non_negative("block_efficiency", block_efficiency)
    length = integers("gamma", gamma, at_least=1)
    same_shape({"block_efficiency": efficiency, "gamma": length})
    possible = (efficiency >= 1) & (efficiency <= length + 1)
    if not possible.all():
        found, most = (
            np.broadcast_to(a, possible.shape)[~possible].flat[0] for a in (efficiency, length + 1)
        )
        raise ValueError(f"block_efficiency must lie in [1, gamma + 1 = {most}], got {found}")
    return alpha_from_accepted_fraction((efficiency - 1) / length, length)


def bisect(increasing: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Returns, for each bracket [low, high], the point where the increasing function passes 0.

    A function without a sign change in its bracket gives the end nearer to a sign change.
    """
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        below = increasing(middle) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


def conditional_acceptance(position_acceptance: ArrayLike) -> Floats:
    """Returns each position's acceptance rate given that all earlier positions were accepted.

    position_acceptance: unconditional rates of positions 1, 2, …, shape (..., gamma), not rising.
      After a position that was never accepted the result is NaN.
    """
    rates = probability("position_acceptance", position_acceptance)
    before = np.concatenate([np.ones_like(rates[..., :1]), rates[..., :-1]], axis=-1)
    if (rates > before).any():
        raise ValueError(
            "position_acceptance must not rise from one position to the next, "
            f"got {rates[rates > before].flat[0]} after {before[rates > before].flat[0]}"
        )
    with np.errstate(invalid="ignore"):
        return np.asarray(rates / before)


def interpolated_alpha(alpha_by_lenience: Mapping[float, float], *, lenience: float) -> float:
    """Returns α(l) at a lenience l between the leniences at which it was measured.

        α(l) = E[Σ min(p/l, q)]               (Leviathan et al. 2023, A.5)

    The interpolation is linear in 1/l. α(l) is concave in 1/l, so the result is never too high.

    alpha_by_lenience: measured α(l) by l, at least one.
    """
    if not alpha_by_lenience:
        raise ValueError("alpha_by_lenience must have at least one lenience, got none")
    least, most = min(alpha_by_lenience), max(alpha_by_lenience)
    if not least <= lenience <= most:
        raise ValueError(
            f"lenience must lie in [{least:g}, {most:g}], where alpha was measured, got {lenience}"
        )
    measured = sorted(alpha_by_lenience, reverse=True)
    inverse = 1 / np.array(measured)
    return float(np.interp(1 / lenience, inverse, [alpha_by_lenience[each] for each in measured]))
