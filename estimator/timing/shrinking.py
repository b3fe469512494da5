"""Steps that take less than those of a smaller γ, beyond chance: a longer draft takes longer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from estimator.intervals import Interval


def shrinking_steps(
    seconds: Mapping[int, float], ratio: Callable[[int, int], Interval]
) -> dict[int, str]:
    """Returns a sentence for each γ whose step is beyond chance out of order with its neighbour's.

    Args:
      seconds: of a step, by γ.
      ratio: the interval of the second γ's step over the first's.
    """
    found: dict[int, str] = {}
    for shorter, longer in pairwise(sorted(seconds)):
        _, high = ratio(shorter, longer)
        if high is None or high >= 1:
            continue
        sentence = (
            f"a step takes {1e3 * seconds[longer]:.2f} ms at gamma {longer} and "
            f"{1e3 * seconds[shorter]:.2f} at gamma {shorter}"
        )
        for gamma in (shorter, longer):
            found.setdefault(gamma, sentence)
    return found
