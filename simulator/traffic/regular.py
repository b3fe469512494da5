"""How many other requests arrive near a request if replicas get the requests in turn.

The gaps between the arrivals of one of N replicas are sums of N exponential gaps. With arrivals at
rate λ, the density of further arrivals at a distance u from an arrival is

    h(u) = λ Σ_j ω^j exp(-N λ (1 - ω^j) u),    ω = exp(2πi / N), j = 0, …, N - 1   (Cox 1962, §4.2)

With T(L) = ∫ (L - u) h(u) du up to L, a request that arrives in a step of L seconds meets
2 T(L) / L others in that step on average, and (T(2L) - 2 T(L)) / L in the step before. A Poisson
process has λ L of both.
"""

from __future__ import annotations

import numpy as np

from simulator.numerics.arguments import Floats

# More replicas than this are counted as so many: gaps then hardly differ.
_MOST = 32


def same_step(arriving: Floats, replicas: int) -> Floats:
    """Returns the factor on the mean number of other requests that arrive in a request's step.

    It is 1 for a Poisson process (one replica), and less if replicas get the requests in turn.
    arriving: mean arrivals of one replica during a step, at least 0, shape (...).
    """
    return np.asarray(2 * _met(arriving, replicas))


def step_before(arriving: Floats, replicas: int) -> Floats:
    """Returns the factor on the mean number of requests that arrive in the step before its own."""
    return np.asarray(4 * _met(2 * np.asarray(arriving), replicas) - 2 * _met(arriving, replicas))


def none_arrives(arriving: Floats, replicas: int) -> Floats:
    """Returns the probability that a step has no arrival, divided by a Poisson process's.

    A step has none if the residual gap is longer: (1/N) Σ_j P(a Poisson number of mean N λ L < j),
    j = 1, …, N.
    """
    number = min(replicas, _MOST)
    mean = number * np.asarray(arriving, dtype=np.float64)
    term = np.ones_like(mean)
    below, total = np.zeros_like(mean), np.zeros_like(mean)
    for place in range(number):
        below = below + term
        total = total + below
        term = term * mean / (place + 1)
    return np.asarray(total / number * np.exp(np.asarray(arriving) - mean))


def _met(arriving: Floats, replicas: int) -> Floats:
    """Returns T(L) / (λ L²), 1/2 for a Poisson process; arriving: λ L."""
    mean = np.maximum(np.asarray(arriving, dtype=np.float64), 1e-6)
    number = min(replicas, _MOST)
    if number == 1:
        return np.full(mean.shape, 0.5)
    # The terms of j and N - j are conjugate.
    places = np.arange(1, number // 2 + 1)
    roots, times = np.exp(2j * np.pi * places / number), np.where(2 * places == number, 1.0, 2.0)
    steps = number * (1 - roots) * mean[..., None]
    with np.errstate(invalid="ignore"):  # an overloaded server has no rate of arrivals
        terms = (roots * (1 / steps + np.expm1(-steps) / steps**2)).real
    return np.asarray(np.clip(0.5 + terms @ times, 0.0, 0.5))
