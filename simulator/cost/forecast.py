"""Predicted speed-ups or times as a joint distribution, within the bounds of physics."""

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
    """A normal law of the logarithms of several quantities, each conditioned on its bounds.

    mean: shape (n,).
    covariance: shape (n, n), by the parameters' doubt.
    error: standard deviation of the model's own error, which they share.
    lowest, highest: bounds of each logarithm that physics gives, shape (n,); None: none. Mean and
      covariance ignore the bounds; quantiles and probabilities obey them.
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    error: float
    lowest: NDArray[np.float64] | None = None
    highest: NDArray[np.float64] | None = None

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Standard deviation of each, the model's error included, shape (n,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance) + self.error**2))

    def quantile(self, share: float) -> NDArray[np.float64]:
        """Returns a quantile of each quantity itself, shape (n,); share in (0, 1)."""
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
        """Returns the probability that each quantity itself is above a level, shape (n,).

        Args:
          level: above 0; 1 for a speed-up asks for the probability of a gain.
        """
        below, above = self._bounds()
        at = _shares((np.log(level) - self.mean) / self._scale)
        return np.asarray(np.clip((above - at) / np.maximum(above - below, _TAIL), 0.0, 1.0))

    def blurred(self, covariance: NDArray[np.float64]) -> Forecast:
        """Returns the law with a further, independent doubt, of shape (n, n).

        Bounds move with what is in doubt, so they recede by half the interval of that doubt.
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
        """Returns the law of some of the quantities."""
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
        """Returns the shares of the law without bounds that lie below each bound."""
        count = len(self.mean)
        below, above = np.zeros(count), np.ones(count)
        if self.lowest is not None:
            below = np.minimum(_shares((self.lowest - self.mean) / self._scale), 1 - 2 * _TAIL)
        if self.highest is not None:
            above = np.maximum(_shares((self.highest - self.mean) / self._scale), below + _TAIL)
        return below, above


def _shares(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the standard normal distribution's function."""
    return np.array([0.5 * erfc(-each / sqrt(2)) for each in deviations.tolist()])
