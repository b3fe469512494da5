"""The confidence level of all intervals, and Wilson's interval of a counted rate.

Files written at another level name it in their field `confidence`. Files without that field were
written by versions with the level `FORMER_CONFIDENCE`.
"""

from math import sqrt
from statistics import NormalDist

# Probability that an interval holds the true value.
CONFIDENCE = 0.9
FORMER_CONFIDENCE = 0.95
# Quantiles at the lower and the upper end of an interval.
ENDS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


def deviations(confidence: float = CONFIDENCE) -> float:
    """Returns half the width of a normal distribution's interval, in standard deviations."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def percent(*levels: float) -> str:
    """Returns levels as text: `90 %`, or `90 and 95 %` if files of two levels are shown.

    levels: probabilities, repeated ones included; none: CONFIDENCE.
    """
    found = [f"{100 * level:g}" for level in sorted(set(levels or (CONFIDENCE,)))]
    return f"{' and '.join(found)} %"


def wilson(hits: float, trials: float, *, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Returns Wilson's interval (1927) of a counted rate; [0, 1] without trials.

        (r + q/2 ± √(q r (1 - r) + q²/4)) / (1 + q),   r = hits / trials,   q = z² / trials

    Args:
      hits: how often the event occurred, in 0..trials.
      trials: independent trials, at least 0; an expected number may be a fraction.
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
