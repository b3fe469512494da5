"""Equally likely draws of a deployment's parameters, before and after its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.cost.fitted.deviations import PARAMETER_COLUMNS, Place, drawn_scales
from simulator.cost.fitted.machine import COUNT
from simulator.cost.fitted.prior import Prior
from simulator.numerics.arguments import Floats
from simulator.numerics.intervals import spread
from simulator.numerics.lattice import DRAWS, WIDE, normal_draws, order_of


@dataclass(frozen=True, eq=False)
class Draws:
    """Equally likely draws of a deployment.

    logs: logarithms θ of the parameters, shape (draws, COUNT).
    scales: index of each draw's τ in `Prior.jumps`, shape (draws,).
    places: load and γ of the n runs that were used.
    factors: R⁻¹ (y - log machine(θ_s) - v_s - ε_s), shape (draws, n) (`simulator.cost.fitted.fit`).
    """

    logs: Floats
    scales: NDArray[np.int64]
    places: tuple[Place, ...]
    factors: Floats

    @cached_property
    def parameters(self) -> Floats:
        """The parameters exp(θ), shape (draws, COUNT)."""
        return np.exp(self.logs).astype(self.precision)

    @property
    def precision(self) -> type[np.floating[Any]]:
        """Single for WIDE draws, of which only quantiles are taken, in half the time."""
        return np.float32 if len(self.logs) == WIDE else np.float64

    @classmethod
    def of_prior(cls, prior: Prior, count: int = DRAWS) -> Draws:
        """Returns `count` draws (DRAWS or WIDE) of a deployment without runs."""
        scales = drawn_scales(np.array(prior.jumps)[:, 1], count)
        return cls(prior.logs + apart(prior, count), scales, (), np.zeros((count, 0)))


def apart(prior: Prior, count: int = DRAWS) -> Floats:
    """Returns draws of the parameters' distance ξ from their mean, shape (count, COUNT).

    They are z Σ^{1/2}, by the symmetric root of the covariance Σ, whose variances may be 0.
    """
    values, vectors = np.linalg.eigh(prior.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.asarray(normal_draws(PARAMETER_COLUMNS, COUNT, count) @ root)


def conditioned(values: Floats, allowed: Sequence[Floats]) -> Floats:
    """Returns equally likely draws of n values given that they are allowed, shape (n, N).

    The draw of rank r takes the quantile of (r + 1/2) / N among the allowed draws, so that draws of
    several quantities stay in step.

    values: N draws of each value without conditions, shape (n, N).
    allowed: for each value, rising draws that meet its conditions, at least 1.
    """
    count = values.shape[1]
    rows = [row for row, rising in enumerate(allowed) if len(rising) != count]
    draws = values.copy()
    for row, order in zip(rows, order_of(values[rows]), strict=True):
        draws[row, order] = spread(allowed[row], count)
    return draws
