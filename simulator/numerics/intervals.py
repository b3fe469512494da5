"""The confidence level of all intervals, and Wilson's interval of a counted rate.

Files name their level in the field `confidence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.arguments import Floats

# Probability that an interval holds the true value.
CONFIDENCE = 0.9
# Quantiles at the lower and the upper end of an interval.
ENDS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


def deviations(confidence: float = CONFIDENCE) -> float:
    """Returns half the width of a normal distribution's interval, in standard deviations."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def percent(*levels: float) -> str:
    """Returns confidence levels as text, e.g. `90 %`, or `90 and 95 %` for two levels.

    levels: confidence levels in (0, 1); without any, CONFIDENCE.
    """
    found = [f"{100 * level:g}" for level in sorted(set(levels or (CONFIDENCE,)))]
    return f"{' and '.join(found)} %"


def wilson(hits: float, trials: float, *, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Returns Wilson's interval (1927) of a counted rate; [0, 1] without trials.

        (r + q/2 ± √(q r (1 - r) + q²/4)) / (1 + q),   r = hits / trials,   q = z² / trials

    hits, trials: independent trials with the event, and all; may be fractional (expected counts).
    """
    if trials == 0:
        return 0.0, 1.0
    rate, q = hits / trials, deviations(confidence) ** 2 / trials
    centre = (rate + q / 2) / (1 + q)
    half = sqrt(q * rate * (1 - rate) + q**2 / 4) / (1 + q)
    return max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half))


def wilson_trials(rate: float, low: float, high: float, *, confidence: float) -> float:
    """Returns the number of trials for which Wilson's interval is as wide as [low, high]."""
    half = (high - low) / 2
    # With q as in `wilson`: half² (1 + q)² = q rate (1 - rate) + q² / 4.
    square, linear = half**2 - 0.25, 2 * half**2 - rate * (1 - rate)
    q = (-linear - sqrt(max(linear**2 - 4 * square * half**2, 0.0))) / (2 * square)
    return deviations(confidence) ** 2 / q if q > 0 else 1.0


# Deviations below are none: a probability is then 0 or 1.
_NO_DOUBT = 1e-15
# Probabilities are kept at least this far from 0 and 1.
_TAIL = 1e-12


@dataclass(frozen=True, slots=True)
class Forecast:
    """Joint normal distribution of n logarithms, each conditioned on its bounds.

    mean, covariance: shapes (n,) and (n, n), if there were no bounds.
    error: standard deviation of the model's own error, shared by all quantities.
    lowest, highest: physical bounds of the logarithms, shape (n,); infinite if there are none.
    """

    mean: Floats
    covariance: Floats
    error: float = 0.0
    lowest: Floats | float = -np.inf
    highest: Floats | float = np.inf

    @classmethod
    def exact(cls, logs: Floats) -> Forecast:
        """Returns the distribution of logarithms without any uncertainty."""
        return cls(logs, np.zeros((len(logs), len(logs))))

    @property
    def deviation(self) -> Floats:
        """Standard deviation of each logarithm, the model's error included, shape (n,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance) + self.error**2))

    def quantile(self, share: float) -> Floats:
        """Returns a quantile of each quantity (not its logarithm), shape (n,); share in (0, 1)."""
        below, above = self._bounds()
        shares = np.clip(below + share * (above - below), _TAIL, 1 - _TAIL)
        found = np.array([NormalDist().inv_cdf(each) for each in shares.tolist()])
        return np.asarray(np.exp(self.mean + found * self._scale))

    def interval(self) -> tuple[Floats, Floats, Floats]:
        """Returns lower end, median and upper end of each quantity's interval, shape (n,) each."""
        low, high = ENDS
        return self.quantile(low), self.quantile(0.5), self.quantile(high)

    def exceeds(self, level: float) -> Floats:
        """Returns each quantity's probability of being above a level (not a logarithm), shape (n,).

        level: above 0; 1 gives the probability that a speed-up is a gain.
        """
        below, above = self._bounds()
        at = self._share(np.log(level))
        return np.asarray(np.clip((above - at) / np.maximum(above - below, _TAIL), 0.0, 1.0))

    def blurred(self, covariance: Floats) -> Forecast:
        """Returns the distribution with a further independent error, whose covariance is given.

        Each bound moves outwards by half the width of that error's interval.
        """
        further = deviations() * np.sqrt(np.maximum(np.diag(covariance), 0.0))
        bounds = (self.lowest - further, self.highest + further)
        return Forecast(self.mean, self.covariance + covariance, self.error, *bounds)

    def only(self, which: NDArray[np.bool_]) -> Forecast:
        """Returns the distribution of the selected quantities."""
        ends = (self.lowest, self.highest)
        bounds = (np.broadcast_to(each, self.mean.shape)[which] for each in ends)
        covariance = self.covariance[np.ix_(which, which)]
        return Forecast(self.mean[which], covariance, self.error, *bounds)

    @property
    def _scale(self) -> Floats:
        return np.asarray(np.maximum(self.deviation, _NO_DOUBT))

    def _bounds(self) -> tuple[Floats, Floats]:
        """Returns the probability below each bound, for the distribution without bounds."""
        below = np.minimum(self._share(self.lowest), 1 - 2 * _TAIL)
        return below, np.maximum(self._share(self.highest), below + _TAIL)

    def _share(self, logs: Floats | float) -> Floats:
        """Returns the probability below each logarithm, for the distribution without bounds."""
        away = (logs - self.mean) / self._scale
        return np.array([0.5 * erfc(-each / sqrt(2)) for each in away.tolist()])
