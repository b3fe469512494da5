"""Bootstrap intervals. Prompts are resampled, not tokens: tokens of one text are correlated."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
REPLICATES = 2000

Interval = tuple[float, float] | tuple[None, None]


def resampled_prompts(prompts: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Returns indices of prompts drawn with replacement, shape (REPLICATES, prompts)."""
    return generator.integers(0, prompts, (REPLICATES, prompts))


def interval(replicates: NDArray[np.float64], *, prompts: int) -> Interval:
    """Returns the central CONFIDENCE interval of replicates; (None, None) of a single prompt.

    Args:
      replicates: shape (replicates,).
      prompts: how many were resampled. Resamples of one are all alike, and their width, 0 or the
        clock's, would tell nothing of other prompts.
    """
    if prompts < 2:
        return None, None
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(replicates, [tail, 100 - tail])
    return float(low), float(high)


def ratio_interval(
    numerators: Sequence[float], denominators: Sequence[float], generator: np.random.Generator
) -> Interval:
    """Returns the interval of sum(numerators)/sum(denominators) over resampled prompts.

    Args:
      numerators, denominators: one of each for every prompt, shape (prompts,).
      generator: draws the resamples.
    """
    chosen = resampled_prompts(len(numerators), generator)
    above, below = (np.asarray(values)[chosen].sum(axis=1) for values in (numerators, denominators))
    return interval(above / below, prompts=len(numerators))
