"""Laws of β, the acceptance probability at one position, or of a forecast of it.

A forecast r that is right on average, r = E[β | what is known], stands for β itself: a token drawn
where the forecast is r is accepted with probability r. So one law describes how much is known, from
nothing (all mass on α) through the law of β to the oracle (0 or 1, as Leviathan et al. 2023, §3.5,
imagine it). All laws with one mean α have the same Eq. 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import non_negative, probability

# Atoms of a Beta law: its Gauss quadrature, exact for polynomials up to degree 2·48 - 1.
_NODES = 48

# Atoms of a large sample: means of as many parts of nearly equal weight.
_PARTS = 128


class AcceptanceLaw(Protocol):
    """A law on [0, 1]."""

    @property
    def mean(self) -> float:
        """α = E[β]."""

    def survival(self, threshold: ArrayLike) -> NDArray[np.float64]:
        """Returns P(β >= threshold), shape of threshold; 0 above 1."""

    def partial_mean(self, threshold: ArrayLike) -> NDArray[np.float64]:
        """Returns E[β; β >= threshold], shape of threshold; 0 above 1."""

    def atoms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns values and weights of a discrete law close to this one and of the same mean."""

    def sample(self, generator: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Returns independent draws, shape (size,)."""


@dataclass(frozen=True, slots=True)
class BetaLaw:
    """The Beta law with parameters a and b, both positive."""

    a: float
    b: float

    def __post_init__(self) -> None:
        for name, value in (("a", self.a), ("b", self.b)):
            if float(non_negative(name, value)) == 0:
                raise ValueError(f"{name} must be above 0, got {value}")

    @classmethod
    def from_mean(cls, alpha: float, *, concentration: float) -> BetaLaw:
        """Returns the law with mean alpha and variance alpha (1 - alpha) / (concentration + 1)."""
        rate = float(probability("alpha", alpha))
        return cls(rate * concentration, (1 - rate) * concentration)

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def survival(self, threshold: ArrayLike) -> NDArray[np.float64]:
        return _beta_survival(self.a, self.b, threshold)

    def partial_mean(self, threshold: ArrayLike) -> NDArray[np.float64]:
        return self.mean * _beta_survival(self.a + 1, self.b, threshold)

    def atoms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # Golub and Welsch (1969): eigenvalues of the Jacobi matrix on [-1, 1], whose entries stay
        # finite where the moments of a concentrated law would overflow.
        n = np.arange(1, _NODES)
        total = self.a + self.b
        turn = 2 * n + total
        diagonal = np.append(
            (self.a - self.b) / total,
            (self.a - self.b) * (total - 2) / ((turn - 2) * turn),
        )
        # n + total - 2 cancels at n = 1, where it may be 0.
        ratio = np.append(1.0, (n[1:] + total - 2) / (turn[1:] - 3))
        squares = 4 * n * (n + self.a - 1) * (n + self.b - 1) * ratio
        beside = np.sqrt(squares / (turn - 1)) / (turn - 2)
        nodes, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, -1))
        return np.clip((1 + nodes) / 2, 0.0, 1.0), np.square(vectors[0])

    def sample(self, generator: np.random.Generator, size: int) -> NDArray[np.float64]:
        return generator.beta(self.a, self.b, size)


@dataclass(frozen=True, slots=True, eq=False)
class EmpiricalLaw:
    """The law of a sample, or any other discrete law.

    values: in [0, 1], shape (n,).
    weights: of the values, shape (n,), any positive scale; without them all count alike.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __init__(self, values: ArrayLike, weights: ArrayLike | None = None) -> None:
        found = np.atleast_1d(probability("values", values))
        counts = np.ones(found.shape) if weights is None else non_negative("weights", weights)
        if found.ndim != 1 or found.size == 0 or counts.shape != found.shape:
            raise ValueError(
                "values and weights must be one-dimensional, of one length and not empty, "
                f"got shapes {found.shape} and {counts.shape}"
            )
        total = counts.sum()
        if total == 0:
            raise ValueError("weights must not all be 0")
        distinct, place = np.unique(found, return_inverse=True)
        object.__setattr__(self, "values", distinct)
        object.__setattr__(self, "weights", np.bincount(place, counts / total))

    @property
    def mean(self) -> float:
        # Between the values, which the sum of weights that add up to 1 but for rounding may leave.
        return float(np.clip(self.weights @ self.values, self.values[0], self.values[-1]))

    def survival(self, threshold: ArrayLike) -> NDArray[np.float64]:
        return self._tail(self.weights, threshold)

    def partial_mean(self, threshold: ArrayLike) -> NDArray[np.float64]:
        return self._tail(self.weights * self.values, threshold)

    def atoms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if len(self.values) <= _PARTS:
            return self.values, self.weights
        part = np.minimum(np.cumsum(self.weights) * _PARTS, _PARTS - 1).astype(np.int64)
        return merge(part, self.values, self.weights)

    def sample(self, generator: np.random.Generator, size: int) -> NDArray[np.float64]:
        if len(self.values) == 1:
            return np.broadcast_to(self.values, (size,))
        edges = np.cumsum(self.weights)
        place = np.searchsorted(edges, generator.random(size) * edges[-1], side="right")
        drawn: NDArray[np.float64] = self.values[np.minimum(place, len(edges) - 1)]
        return drawn

    def _tail(self, masses: NDArray[np.float64], threshold: ArrayLike) -> NDArray[np.float64]:
        tails = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        return np.asarray(tails[np.searchsorted(self.values, threshold, side="left")])


def merge(
    place: NDArray[np.int64], values: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns values and weights with those of one place merged at their mean; empty ones go.

    Args:
      place: of each value, at least 0, shape (n,).
      values, weights: shape (n,).
    """
    total: NDArray[np.float64] = np.bincount(place, weights).astype(np.float64)
    filled = total > 0
    total = total[filled]
    return np.bincount(place, weights * values)[filled] / total, total


def _beta_survival(a: float, b: float, threshold: ArrayLike) -> NDArray[np.float64]:
    from scipy.special import betaincc

    return np.asarray(betaincc(a, b, np.clip(threshold, 0.0, 1.0)))
