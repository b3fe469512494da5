"""Converts the numbers that servers print to α and back, assuming i.i.d. acceptance.

Most servers call accepted over drafted tokens the acceptance rate. That number falls with γ and is
not α. An α inferred from counts equals E[β] only if the β of all positions are independent and
identically distributed (Leviathan et al. 2023, §3.1). Elsewhere it is called alpha_iid.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import accepted_formula
from simulator.numerics.arguments import (
    floats,
    integers,
    non_negative,
    probability,
    same_shape,
)

# Each step halves the bracket: this many leave less than float64 resolves of a bracket within
# [0, 1] whose root is not tiny.
_STEPS = 64


def accepted_fraction(
    alpha: NDArray[np.float64], gamma: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns accepted over drafted tokens, (α + … + α^γ) / γ, without checking the arrays."""
    return accepted_formula(alpha, gamma) / gamma


def alpha_from_accepted_fraction(fraction: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """Returns the α at which accepted_fraction(α, γ) equals the given fraction.

    Args:
      fraction: accepted over drafted tokens, in [0, 1], shape (...).
      gamma: drafted tokens per block, at least 1; broadcasts with fraction.
    """
    arguments = {
        "accepted_fraction": probability("accepted_fraction", fraction),
        "gamma": integers("gamma", gamma, at_least=1),
    }
    rate, length = floats(arguments)
    # The mean of α, …, α^γ is at most α and, i ↦ α^i being convex, at least α^((γ+1)/2).
    most = rate ** (2 / (length + 1))
    return bisect(lambda alpha: accepted_fraction(alpha, length) - rate, rate, most)[()]


def alpha_from_block_efficiency(
    block_efficiency: ArrayLike, gamma: ArrayLike
) -> NDArray[np.float64]:
    """Returns the α at which expected_tokens(α, γ) equals the given block efficiency.

    Args:
      block_efficiency: emitted tokens per target call, in [1, γ + 1], shape (...).
      gamma: drafted tokens per block, at least 1; broadcasts with block_efficiency.
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


def conditional_acceptance(position_acceptance: ArrayLike) -> NDArray[np.float64]:
    """Returns each position's acceptance rate given that all earlier positions were accepted.

    position_acceptance: unconditional rates of positions 1, 2, …, shape (..., gamma), not rising.

    Returns shape (..., gamma); NaN after a position that was never accepted.
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

    Args:
      alpha_by_lenience: measured α(l) by l, at least one.
      lenience: l, between the smallest and the largest measured lenience.
    """
    if not alpha_by_lenience:
        raise ValueError("alpha_by_lenience must have at least one lenience, got none")
    least, most = min(alpha_by_lenience), max(alpha_by_lenience)
    if not least <= lenience <= most:
        raise ValueError(
            f"lenience must lie in [{least:g}, {most:g}], where alpha was measured, got {lenience}"
        )
    inverse = np.array(sorted(1 / measured for measured in alpha_by_lenience))
    alphas = [alpha_by_lenience[measured] for measured in sorted(alpha_by_lenience, reverse=True)]
    return float(np.interp(1 / lenience, inverse, alphas))


def bisect(
    increasing: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Returns, for each bracket, the point where the increasing function passes 0.

    Args:
      increasing: maps an array to function values of one shape.
      low, high: ends of the brackets, of one shape. A function without a sign change in its bracket
        gives the end nearer to a sign change.
    """
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        below = increasing(middle) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)
