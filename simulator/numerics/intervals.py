"""The confidence level of all intervals, and Wilson's interval of a counted rate.

Files name their level in the field `confidence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import hypot, inf, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import Floats
from simulator.numerics.lattice import normal_column, normal_quantiles

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
    printed = [f"{100 * level:g}" for level in sorted(set(levels or (CONFIDENCE,)))]
    return f"{' and '.join(printed)} %"


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


def median(draws: Floats, axis: int = 0) -> Floats:
    """Returns the median along an axis: `np.median`, without its check for NaN, in less time."""
    # numpy sorts with vector instructions, which takes no longer than a partition.
    rising, count = np.sort(draws, axis=axis), draws.shape[axis]
    low, high = rising.take((count - 1) // 2, axis), rising.take(count // 2, axis)
    return np.asarray((low + high) / 2)


def with_medians(draws: Floats, medians: Floats, axis: int = 0) -> Floats:
    """Returns draws of log speed-ups, moved along an axis so that they have other medians.

    A loss is moved as a share of the speed, which is at most 1: its logarithm has no bound near the
    capacity of a server, where a shift of logarithms would turn large losses into gains.

    medians: shape of `draws`, with one element along `axis`.
    """
    wanted, drawn = (np.where(gain < 0, np.expm1(gain), gain) for gain in (medians, draws))
    moved = drawn + wanted - np.expand_dims(median(drawn, axis=axis), axis)
    # No draw is moved below the least of the draws and the medians.
    moved = np.maximum(moved, min(drawn.min(), wanted.min()))
    return np.asarray(np.where(moved < 0, np.log1p(np.minimum(moved, 0.0)), moved))


def quantiles(rising: Floats, share: ArrayLike) -> Floats:
    """Returns quantiles of draws that rise along the last axis, at shares in (0, 1).

    The i-th smallest of N draws is the quantile of (i + 1/2) / N; linear between two draws.
    """
    return _between(rising, *_places(rising.shape[-1], np.asarray(share)))


def spread(rising: Floats, count: int) -> Floats:
    """Returns `count` quantiles of rising draws, shape (count,), at shares (r + 1/2) / count."""
    return _between(rising, *_middles(len(rising), count))


@lru_cache(maxsize=8)
def _middles(draws: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    return _places(draws, (np.arange(count) + 0.5) / count)


@lru_cache(maxsize=8)
def _three(draws: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    return _places(draws, np.array([ENDS[0], 0.5, ENDS[1]]))


def _places(draws: int, share: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Returns between which two of the rising draws quantiles lie, and how far from the first."""
    place = np.clip(draws * share - 0.5, 0, draws - 1)
    low = place.astype(np.int64)
    return low, np.minimum(low + 1, draws - 1), place - low


def _between(
    rising: Floats, low: NDArray[np.int64], high: NDArray[np.int64], share: Floats
) -> Floats:
    below = rising.take(low, axis=-1)
    return np.asarray(below + (rising.take(high, axis=-1) - below) * share)


# Column of `normal_column` that errors of an acceptance take.
_ACCEPTANCE = 14


@dataclass(frozen=True, eq=False)
class Forecast:
    """Joint distribution of n logarithms, as equally likely draws.

    draws: logarithms by draw, shape (draws, n); one draw if nothing is uncertain.
    covariance: covariance of the logarithms, shape (n, n).

      >>> law = Forecast.normal(np.log([1.5]), np.array([[0.01]]))
      >>> law.quantile(0.5).round(2).tolist(), law.exceeds(1.0).round(3).tolist()
      ([1.5], [1.0])
    """

    draws: Floats
    covariance: Floats

    @classmethod
    def exact(cls, logs: Floats) -> Forecast:
        """Returns the distribution of logarithms without any uncertainty."""
        return cls(logs[None], np.zeros((len(logs), len(logs))))

    @classmethod
    def normal(cls, mean: Floats, covariance: Floats) -> Forecast:
        """Returns a joint normal distribution; its draws have exact quantiles for each logarithm.

        mean, covariance: shapes (n,) and (n, n).
        """
        mean = np.asarray(mean, dtype=np.float64)
        if covariance.shape != (len(mean), len(mean)):
            raise ValueError(
                f"covariance must be of {len(mean)} means, got shape {covariance.shape}"
            )
        return cls.exact(mean).blurred(covariance)

    @classmethod
    def drawn(cls, draws: Floats) -> Forecast:
        """Returns the distribution of the given draws, shape (draws, n)."""
        return cls(draws, np.cov(draws, rowvar=False).reshape(draws.shape[1], draws.shape[1]))

    @cached_property
    def _ends(self) -> Floats:
        """Lower end, median and upper end of each logarithm's interval, shape (3, n)."""
        if len(self.draws) == 1:
            return np.repeat(self.draws, 3, axis=0)
        rising = np.sort(self.draws.T, axis=1)
        return np.ascontiguousarray(_between(rising, *_three(len(self.draws))).T)

    @property
    def medians(self) -> Floats:
        """Median of each logarithm, shape (n,)."""
        return np.asarray(self._ends[1])

    @cached_property
    def deviation(self) -> Floats:
        """Standard deviation of each logarithm, shape (n,)."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    @property
    def inverse(self) -> Forecast:
        """The distribution of the quantities' reciprocals."""
        return Forecast(-self.draws, self.covariance)

    def quantile(self, share: float) -> Floats:
        """Returns a quantile of each quantity (not its logarithm), shape (n,); share in (0, 1)."""
        return np.exp(quantiles(np.sort(self.draws.T, axis=1), share))

    def interval(self) -> tuple[Floats, Floats, Floats]:
        """Returns lower end, median and upper end of each quantity's interval, shape (n,) each."""
        low, middle, high = np.exp(self._ends)
        return low, middle, high

    def exceeds(self, level: float) -> Floats:
        """Returns each quantity's probability of being above a level (not a logarithm), shape (n,).

        level: above 0; 1 gives the probability that a speed-up is a gain.
        """
        count = len(self.draws)
        shares, at = (np.arange(count) + 0.5) / count, np.log(level)
        rising = np.sort(self.draws.T, axis=1)
        below = [np.interp(at, column, shares, left=0.0, right=1.0) for column in rising]
        return 1.0 - np.array(below)

    def exceeds_other(self, first: int, second: int, *, spread: float = inf) -> float:
        """Returns the probability that one quantity is above another, as if both were lognormal.

        first, second: indices of the quantities.
        spread: standard deviation of the difference of both logarithms before any evidence.
        """
        apart = float(self.medians[first] - self.medians[second])
        variance = self.covariance[first, first] + self.covariance[second, second]
        deviation = sqrt(max(float(variance - 2 * self.covariance[first, second]), 0.0))
        if deviation == 0:
            return 0.5 if apart == 0 else float(apart > 0)
        return NormalDist().cdf(apart / deviation / hypot(1, deviation / spread))

    def blurred(self, covariance: Floats) -> Forecast:
        """Returns the distribution with a further independent normal error; medians are kept.

        covariance: the error's covariance, shape (n, n). The median is kept because it is the speed
        at the expected acceptance, as every report states it.
        """
        scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        if not scale.any():
            return self
        certain = len(self.draws) == 1
        normal = normal_quantiles() if certain else normal_column(_ACCEPTANCE)
        draws = self.draws + normal[:, None] * scale
        draws = draws + self.medians - median(draws)
        return Forecast(draws, self.covariance + covariance)

    def capped(self, logs: Floats) -> Forecast:
        """Returns the distribution with no draw above the given logarithms, shape (n,)."""
        if (self.draws.max(axis=0) <= logs).all():
            return self
        return Forecast(np.minimum(self.draws, logs), self.covariance)

    def only(self, which: NDArray[np.bool_]) -> Forecast:
        """Returns the distribution of the selected quantities."""
        if which.all():
            return self
        selected = Forecast(self.draws[:, which], self.covariance[which][:, which])
        if "_ends" in vars(self):  # sorted once
            vars(selected)["_ends"] = self._ends[:, which]
        return selected
