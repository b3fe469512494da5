"""Differences paired by prompt: what two measurements share in a prompt is no difference."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimator.intervals import difference, jackknife_interval


@dataclass(frozen=True, slots=True)
class Difference:
    """One number in two measurements.

    difference: b - a, with the interval over prompts; None of a single prompt.
    """

    number: str
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None

    @property
    def told_apart(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def paired(
    number: str, a: float, b: float, *, a_without: Sequence[float], b_without: Sequence[float]
) -> Difference:
    """Returns the difference of a number between two measurements of the same prompts.

    The jackknife of the difference itself: each prompt is left out of both at once.

    Args:
      a_without, b_without: of all prompts but each one, in the same order; empty of one prompt.

    Raises:
      ValueError: if they are not equally many.
    """
    if len(a_without) != len(b_without):
        raise ValueError(
            f"{number} must be of as many prompts in both, got {len(a_without)} and "
            f"{len(b_without)}"
        )
    without = np.array(b_without) - np.array(a_without)
    low, high = jackknife_interval(b - a, without, scale=difference)
    return Difference(number, a, b, b - a, low, high)
