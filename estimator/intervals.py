"""Intervals over prompts: prompts are left out in turn, since tokens of a text are correlated.

Percentile bootstraps with a nominal 95 % cover 80 % over 4 prompts and 88 % over 8. Student's t on
the jackknife's standard error covers nominally on a scale with symmetric errors (a ratio's
logarithm, a rate's log odds), unless the estimated quantity depends on the length of a text.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.intervals import ENDS

# Wider intervals carry no information, and would exceed the range of float64 and JSON.
MOST_LOGARITHM = 300.0

Interval = tuple[float, float] | tuple[None, None]

# Returns the ends of an interval: an estimate ± a number (reach) of standard errors.
Scale = Callable[[float, float, float], tuple[float, float]]


def ratio(value: float, error: float, reach: float) -> tuple[float, float]:
    """Returns the interval value · exp(± reach × error / value); [0, reach × error] for value 0.

    error, reach: standard error of value, and number of standard errors on each side.
    """
    if value == 0:
        return 0.0, reach * error
    factor = float(np.exp(min(reach * error / value, MOST_LOGARITHM)))
    return value / factor, value * factor


def rate(value: float, error: float, reach: float) -> tuple[float, float]:
    """Returns the interval of ± reach standard errors, symmetric in log(value / (1 - value)).

    For the values 0 and 1 the interval is value ± reach × error, cut to [0, 1].
    """
    if value in (0, 1):
        return max(0.0, value - reach * error), min(1.0, value + reach * error)
    odds = value / (1 - value)
    low, high = ratio(odds, error / (1 - value) ** 2, reach)
    return low / (1 + low), high / (1 + high)


def difference(value: float, error: float, reach: float) -> tuple[float, float]:
    """Returns the interval value ± reach × error, where error is the standard error of value."""
    return value - reach * error, value + reach * error


def student(degrees: float) -> float:
    """Returns half an interval's width in standard errors: Student's t at `degrees` of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, ENDS[1]))


def degrees_of_freedom(sizes: ArrayLike) -> float:
    """Returns the degrees of freedom of a standard error that is estimated from unequal prompts.

        (Σ n_i)² / Σ n_i² - 1, at least 1      (Kish 1965, the effective sample size)

    sizes: each prompt's part in a sum (tokens, seconds), at least 0, shape (prompts,).
    """
    shares = np.asarray(sizes, dtype=np.float64)
    squares = float((shares**2).sum())
    return max(float(shares.sum()) ** 2 / squares - 1, 1.0) if squares > 0 else 1.0


def jackknife_interval(
    value: float, without: ArrayLike, *, scale: Scale, sizes: ArrayLike | None = None
) -> Interval:
    """Returns the interval of a statistic over all prompts; (None, None) for one prompt.

        standard error² = (n-1)/n · Σ(θ_i - mean)²

    value: the statistic over all n prompts.
    without: θ_i, the statistic computed without prompt i, shape (n,); not used if n is 1.
    scale: `ratio`, `rate` or `difference`: the scale on which the interval is symmetric.
    sizes: sizes of the prompts, shape (n,), for `degrees_of_freedom`; None: equal sizes.
    """
    left_out = np.asarray(without, dtype=np.float64)
    n = len(left_out)
    if n < 2:
        return None, None
    error = float(np.sqrt((n - 1) * left_out.var()))
    degrees = n - 1 if sizes is None else degrees_of_freedom(sizes)
    return scale(value, error, student(degrees))


def chance_above(value: float, without: ArrayLike) -> float | None:
    """Returns the probability that a difference over all prompts is above 0; None for one prompt.

        T(value / standard error), T: Student's t distribution at n - 1 degrees of freedom

    value, without: as in `jackknife_interval`, whose standard error it uses.
    """
    from scipy.special import stdtr

    left_out = np.asarray(without, dtype=np.float64)
    n = len(left_out)
    if n < 2:
        return None
    error = float(np.sqrt((n - 1) * left_out.var()))
    if error == 0:
        return 0.5 if value == 0 else float(value > 0)
    return float(stdtr(n - 1, value / error))


def ratio_interval(
    numerators: Sequence[float], denominators: Sequence[float], *, scale: Scale = ratio
) -> Interval:
    """Returns the interval of sum(numerators) / sum(denominators), both over prompts."""
    above, below = np.array(numerators, dtype=float), np.array(denominators, dtype=float)
    value = float(above.sum() / below.sum())
    without = left_out(above) / left_out(below)
    return jackknife_interval(value, without, scale=scale, sizes=below)


def left_out(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns, for each prompt, the sum over all other prompts; for a single prompt, its value.

    values: shape (prompts, ...).
    """
    return values if len(values) < 2 else values.sum(axis=0) - values


def steps_out_of_order(
    seconds: Mapping[int, float], ratio: Callable[[int, int], Interval]
) -> dict[int, str]:
    """Returns warnings, by γ, that a step takes less time than a step with the next smaller γ.

    A warning is given under both γ, but only if the whole interval of `ratio` is below 1.

    seconds: seconds per step, by γ.
    ratio: returns, for a smaller and a larger γ, the interval of time(larger) / time(smaller).
    """
    sentences: dict[int, str] = {}
    for shorter, longer in pairwise(sorted(seconds)):
        _, high = ratio(shorter, longer)
        if high is not None and high < 1:
            sentence = (
                f"a step takes {1e3 * seconds[longer]:.2f} ms at gamma {longer} and "
                f"{1e3 * seconds[shorter]:.2f} at gamma {shorter}"
            )
            sentences |= {gamma: sentence for gamma in (shorter, longer) if gamma not in sentences}
    return sentences
