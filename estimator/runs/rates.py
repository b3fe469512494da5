"""How fast interleaved runs were: medians over repeats, resampled for intervals."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import Interval, interval, resampled_prompts
from estimator.runs.arms import AGAIN, BASELINE, Runs
from reference.records import Generation

Seconds = NDArray[np.float64]


def decode_rate(generations: Sequence[Sequence[Generation]]) -> Seconds:
    """Returns each prompt's seconds per token, the median over repeats; shape (prompts,)."""
    rates: Seconds = np.median(_rates(generations), axis=1)
    return rates


def median_sum(
    generations: Sequence[Sequence[Generation]], seconds: Callable[[Generation], float]
) -> float:
    """Returns the sum over prompts of the median over repeats."""
    return float(sum(np.median([seconds(run) for run in row]) for row in generations))


def noise_logarithms(runs: Runs, generator: np.random.Generator) -> Seconds:
    """Returns deviations of the clock on the logarithmic scale, shape (REPLICATES,).

    A measured speed-up over a predicted one is (baseline / own run) / (baseline again / probe), so
    two ratios of equal work vary: the sum of two independent resamples of the baseline's speed
    over its own, with signs drawn.
    """
    chosen = resampled_prompts(len(runs[BASELINE]), generator)
    baseline, again = (
        _resampled_rates(_rates(runs[arm]), chosen, generator).sum(axis=1)
        for arm in (BASELINE, AGAIN)
    )
    # Which of the two was the faster is nothing that one could have known before.
    ratios = np.log(baseline / again)
    signed = ratios * generator.choice([-1.0, 1.0], len(ratios))
    noise: Seconds = signed + generator.permutation(signed)
    return noise


def measured_interval(runs: Runs, arm: str, generator: np.random.Generator) -> Interval:
    """Returns the bootstrap interval of an arm's measured speed-up."""
    tokens = np.array([len(row[0].tokens) for row in runs[arm]])
    chosen = resampled_prompts(len(tokens), generator)
    baseline, own = (
        (_resampled_rates(_rates(runs[name]), chosen, generator) * tokens[chosen]).sum(axis=1)
        for name in (BASELINE, arm)
    )
    return interval(baseline / own, prompts=len(tokens))


def _rates(generations: Sequence[Sequence[Generation]]) -> Seconds:
    """Returns seconds per token, shape (prompts, repeats)."""
    return np.array([[run.decode_seconds / len(run.tokens) for run in row] for row in generations])


def _resampled_rates(
    rates: Seconds, chosen: NDArray[np.int64], generator: np.random.Generator
) -> Seconds:
    """Returns median rates over resampled repeats of the chosen prompts, shape of chosen."""
    repeats = rates.shape[1]
    picked = generator.integers(0, repeats, (*chosen.shape, repeats))
    return np.median(rates[chosen[..., None], picked], axis=-1)
