"""Predicted speed-ups or times as a joint distribution within physical bounds."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.intervals import ENDS, deviations

# Deviations below are none: a probability is then 0 or 1.
_NO_DOUBT = 1e-15
# Shares of a law nearer to 0 or 1 than this are taken as this.
_TAIL = 1e-12


@dataclass(frozen=True, slots=True)
class Forecast:
    """Joint normal distribution of n logarithms, each conditioned on its bounds.

    mean: shape (n,).
    covariance: covariance that follows from uncertain parameters, shape (n, n).
    error: standard deviation of the model's own error, shared by all quantities.
    lowest, highest: physical bounds of the logarithms, shape (n,); None if there are none.
      Quantiles and probabilities respect the bounds; mean and covariance ignore them.
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    error: float
    lowest: NDArray[np.float64] | None = None
    highest: NDArray[np.float64] | None = None

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Standard deviation of each logarithm, the model's error included, shape (n,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance) + self.error**2))

    def quantile(self, share: float) -> NDArray[np.float64]:
        """Returns a quantile of each quantity (not its logarithm), shape (n,); share in (0, 1)."""
        below, above = self._bounds()
        law = NormalDist()
        found = [
            law.inv_cdf(min(max(low + share * (high - low), _TAIL), 1 - _TAIL))
            for low, high in zip(below, above, strict=True)
        ]
        return np.asarray(np.exp(self.mean + np.array(found) * self._scale))

    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Returns lower end, median and upper end of each quantity's interval, shape (n,) each."""
        low, high = ENDS
        return self.quantile(low), self.quantile(0.5), self.quantile(high)

    def exceeds(self, level: float) -> NDArray[np.float64]:
        """Returns each quantity's probability of being above a level (not a logarithm), shape (n,).

        level: above 0; 1 gives the probability that a speed-up is a gain.
        """
        below, above = self._bounds()
        at = _shares((np.log(level) - self.mean) / self._scale)
        return np.asarray(np.clip((above - at) / np.maximum(above - below, _TAIL), 0.0, 1.0))

    def blurred(self, covariance: NDArray[np.float64]) -> Forecast:
        """Returns the distribution with a further independent error; covariance of shape (n, n).

        The bounds recede by half the interval of that error.
        """
        further = deviations() * np.sqrt(np.maximum(np.diag(covariance), 0.0))
        return Forecast(
            self.mean,
            self.covariance + covariance,
            self.error,
            None if self.lowest is None else self.lowest - further,
            None if self.highest is None else self.highest + further,
        )

    def only(self, which: NDArray[np.bool_]) -> Forecast:
        """Returns the distribution of the selected quantities."""
        return Forecast(
            self.mean[which],
            self.covariance[np.ix_(which, which)],
            self.error,
            None if self.lowest is None else self.lowest[which],
            None if self.highest is None else self.highest[which],
        )

    @property
    def _scale(self) -> NDArray[np.float64]:
        return np.asarray(np.maximum(self.deviation, _NO_DOUBT))

    def _bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the probability below each bound, for the distribution without bounds."""
        count = len(self.mean)
        below, above = np.zeros(count), np.ones(count)
        if self.lowest is not None:
            below = np.minimum(_shares((self.lowest - self.mean) / self._scale), 1 - 2 * _TAIL)
        if self.highest is not None:
            above = np.maximum(_shares((self.highest - self.mean) / self._scale), below + _TAIL)
        return below, above


def _shares(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the standard normal cumulative distribution function."""
    return np.array([0.5 * erfc(-each / sqrt(2)) for each in deviations.tolist()])
