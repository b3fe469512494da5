"""Varying γ: blocks that stop drafting on a forecast of acceptance (Leviathan et al. 2023, §3.5).

The paper leaves policies between a fixed γ and its oracle to future work. Here forecasts of β are
independent draws from a law (`beta_laws`), known before a position is drafted, and
verification is free as in Theorem 8. Two policies, both capped at γ drafted tokens:

- position threshold: draft while the position's own forecast is at least θ;
- survival threshold: draft while the product of the block's forecasts, the probability that the
  whole draft up to here is accepted, is at least θ.

The second is the best of all. A policy of tokens T and cost K = 1 + c·drafted per block has, over a
long text, the factor E[T]/E[K]; the largest is the λ at which max E[T - λK] = 0. With s the product
of forecasts, a further position adds s to T and λc to λK. Since s only falls, a position that does
not pay is never worth drafting for the sake of a later one, so: draft exactly while s ≥ λc.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.beta_laws import AcceptanceLaw, merge
from simulator.acceptance.tokens import expected_accepted, expected_tokens
from simulator.numerics.arguments import integer, non_negative, probability

# Products of forecasts whose logarithms share a bin are merged at their mean.
_BINS = 1024

# Masses below are dropped: products of them would underflow.
_NEGLIGIBLE = 1e-30

# Thresholds on single forecasts are tried in steps of a thousandth.
_THRESHOLDS = np.linspace(0.0, 1.0, 1001)

# Newton's method on a convex, piecewise smooth function; it stops by itself far earlier.
_MOST_STEPS = 100


@dataclass(frozen=True, slots=True)
class ForecastPolicy:
    """What a policy that stops on forecasts does, per block.

    threshold: θ, below which it stops.
    gamma: the most tokens it drafts.
    expected_tokens: E[T], the target's own included.
    expected_drafted: mean number of drafted tokens.
    """

    threshold: float
    gamma: int
    expected_tokens: float
    expected_drafted: float

    def improvement_factor(self, c: float) -> float:
        """Returns the speed-up over the target alone, E[T] / (1 + c·drafted)."""
        return self.expected_tokens / (1 + float(non_negative("c", c)) * self.expected_drafted)


def position_threshold(law: AcceptanceLaw, *, threshold: float, gamma: int) -> ForecastPolicy:
    """Returns what drafting while each forecast is at least θ does.

        drafted = Σ_{i≤γ} P(r ≥ θ)^i,   E[T] = 1 + Σ_{i≤γ} E[r; r ≥ θ]^i

    Args:
      law: of the forecast r of β.
      threshold: θ in [0, 1]; 0 is a fixed γ.
      gamma: the most tokens drafted, at least 0.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    limit = integer("gamma", gamma)
    stop = float(probability("threshold", threshold))
    return ForecastPolicy(
        threshold=stop,
        gamma=limit,
        expected_tokens=float(expected_tokens(_chance(law.partial_mean(stop)), limit)),
        expected_drafted=float(expected_accepted(_chance(law.survival(stop)), limit)),
    )


def survival_threshold(law: AcceptanceLaw, *, threshold: float, gamma: int) -> ForecastPolicy:
    """Returns what drafting while the product of forecasts is at least θ does.

        drafted = Σ_{i≤γ} P(r₁…r_i ≥ θ),   E[T] = 1 + Σ_{i≤γ} E[r₁…r_i; r₁…r_i ≥ θ]

    The law of products is carried in bins of its logarithm, exact but for merging within a bin.

    Args:
      law: of the forecast r of β.
      threshold: θ in [0, 1]; 0 is a fixed γ.
      gamma: the most tokens drafted, at least 0.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    limit = integer("gamma", gamma)
    stop = float(probability("threshold", threshold))
    if stop == 0 or limit == 0:
        return position_threshold(law, threshold=stop, gamma=limit)
    return _survival(law, _products(law, stop, limit), stop, limit)


def optimal_survival_threshold(law: AcceptanceLaw, *, c: float, max_gamma: int) -> ForecastPolicy:
    """Returns the best policy that the forecast allows: the survival threshold θ = λc.

    λ is the policy's own improvement factor. Found as the root of a convex function by Newton's
    method, which here reads: take the factor λ of the current policy, stop below λc, repeat.

    Args:
      law: of the forecast r of β.
      c: time of one draft step over time of one target step, at least 0.
      max_gamma: the most tokens drafted, at least 1.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    limit = integer("max_gamma", max_gamma, at_least=1)
    step = float(non_negative("c", c))
    if step == 0:
        return position_threshold(law, threshold=0.0, gamma=limit)
    if step >= 1:
        return ForecastPolicy(threshold=1.0, gamma=0, expected_tokens=1.0, expected_drafted=0.0)
    # The factor is at least 1, so no product below c is ever drafted.
    products = _products(law, step, limit)
    factor = 1.0
    for _ in range(_MOST_STEPS):
        policy = _survival(law, products, min(factor * step, 1.0), limit)
        if policy.improvement_factor(step) <= factor:
            break
        factor = policy.improvement_factor(step)
    return policy


def optimal_position_threshold(law: AcceptanceLaw, *, c: float, max_gamma: int) -> ForecastPolicy:
    """Returns the best threshold on single forecasts, and the best cap with it, by a scan.

    Args:
      law: of the forecast r of β.
      c: time of one draft step over time of one target step, at least 0.
      max_gamma: the most tokens drafted, at least 1.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    limit = integer("max_gamma", max_gamma, at_least=1)
    step = float(non_negative("c", c))
    gammas = np.arange(limit + 1)[:, np.newaxis]
    tokens = expected_tokens(_chance(law.partial_mean(_THRESHOLDS)), gammas)
    drafted = expected_accepted(_chance(law.survival(_THRESHOLDS)), gammas)
    gamma, place = np.unravel_index((tokens / (1 + step * drafted)).argmax(), tokens.shape)
    return position_threshold(law, threshold=float(_THRESHOLDS[place]), gamma=int(gamma))


def _chance(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the value without what rounding adds beyond 1."""
    return np.minimum(value, 1.0)


def _products(
    law: AcceptanceLaw, floor: float, gamma: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the products of 0, …, γ - 1 forecasts that are at least `floor`, with their weights.

    The weights of products of i forecasts sum to P(r₁…r_i ≥ floor), so those of all to the mean
    number of positions at which drafting one more is weighed.
    """
    values, weights = law.atoms()
    products, masses = np.ones(1), np.ones(1)
    all_products, all_masses = [products], [masses]
    # At a floor of 1 only products of exactly 1 are left, in bin 0 of any width.
    width = max(-np.log(floor) / _BINS, _NEGLIGIBLE)
    for _ in range(gamma - 1):
        longer = np.multiply.outer(products, values).ravel()
        mass = np.multiply.outer(masses, weights).ravel()
        kept = (longer >= floor) & (mass > _NEGLIGIBLE)
        longer, mass = longer[kept], mass[kept]
        if longer.size == 0:
            break
        products, masses = _binned(longer, mass, width)
        all_products.append(products)
        all_masses.append(masses)
    return _binned(np.concatenate(all_products), np.concatenate(all_masses), width)


def _binned(
    products: NDArray[np.float64], masses: NDArray[np.float64], width: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return merge((-np.log(products) / width).astype(np.int64), products, masses)


def _survival(
    law: AcceptanceLaw,
    products: tuple[NDArray[np.float64], NDArray[np.float64]],
    threshold: float,
    gamma: int,
) -> ForecastPolicy:
    values, masses = products
    reached = values >= threshold
    values, masses = values[reached], masses[reached]
    needed = threshold / values
    return ForecastPolicy(
        threshold=threshold,
        gamma=gamma,
        expected_tokens=1 + float(masses @ (values * law.partial_mean(needed))),
        expected_drafted=float(masses @ law.survival(needed)),
    )
