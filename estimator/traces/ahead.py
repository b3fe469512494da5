"""Predictions before a run: the speed-up expected from other texts, with its random error."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import Interval, student
from estimator.timing.rates import Noise
from estimator.traces.traces import Trace
from simulator.cost.cost import Cost

# Enough to know the deviation of a run's seconds to 2 %.
REPLICATES = 2000


def replay_factor(traces: Sequence[Trace], gamma: int, cost: Cost) -> float:
    """Returns the expected speed-up over all texts: baseline seconds over replayed seconds."""
    base = cost.baseline_seconds * sum(trace.tokens for trace in traces)
    return base / sum(trace.replay.seconds(gamma, cost) for trace in traces)


def simulated_seconds(
    trace: Trace, gamma: int, cost: Cost, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Returns REPLICATES simulated times of decoding the text, with acceptances drawn at random."""
    prices = cost.block_seconds(np.arange(gamma + 1))
    lengths = trace.replay.lengths(gamma)
    drafted = np.arange(gamma) < lengths[:, None]
    odds = np.where(drafted, trace.by_start(gamma), 0.0)
    position = np.zeros(REPLICATES, dtype=np.int64)
    seconds = np.zeros(REPLICATES)
    while (active := position < trace.tokens).any():
        start = position[active]
        accepts = generator.random((len(start), gamma)) < odds[start]
        seconds[active] += prices[lengths[start]]
        position[active] += accepts.cumprod(axis=1).sum(axis=1) + 1
    return seconds


def ahead_interval(
    texts: Sequence[tuple[Trace, Trace]],
    gamma: int,
    cost: Cost,
    *,
    noise: Noise,
    generator: np.random.Generator,
) -> Interval:
    """Returns the interval expected for a run's measured speed-up on the prompts of `texts`.

    Three independent errors add their variances on the logarithmic scale:

        texts (the run's text, and two texts whose mean predicts it): Σ e_i² (1 + 1/2), where e_i is
          a text's deviation from its prompt's mean time, estimated from the difference of two texts
        acceptances of the run: drawn along the first text of each prompt
        clock: twice the baseline's error against itself, since a measurement over a prediction is
          (baseline / run) / (baseline again / probe)

    The interval is Student's t with Welch's degrees of freedom, because the first and the last
    error are estimates. At temperature 0 a prompt has one text, so only the clock has an error.

    texts: two independent texts of the target for each prompt; a single prompt gives (None,
      None).
    """
    if len(texts) < 2:
        return None, None
    seconds = np.array([[each.replay.seconds(gamma, cost) for each in pair] for pair in texts])
    base = cost.baseline_seconds * np.array([[each.tokens for each in pair] for pair in texts])
    factor = float(base.sum() / seconds.sum())
    expected = float(seconds[:, 0].sum())
    # Difference of a prompt's two texts, in seconds of the first's length; each deviates by 1/√2.
    apart = seconds[:, 0] - seconds[:, 1] * base[:, 0] / base[:, 1]
    text_luck = (1 + 1 / 2) * float((apart**2 / 2).sum()) / expected**2
    drawn = sum(simulated_seconds(first, gamma, cost, generator) for first, _ in texts)
    acceptance_luck = float(np.var(drawn)) / expected**2
    clock = 2 * noise.error**2
    whole = text_luck + acceptance_luck + clock
    if whole == 0:
        return factor, factor
    estimated = text_luck**2 / len(texts) + clock**2 / noise.prompts
    degrees = whole**2 / estimated if estimated > 0 else np.inf
    reach = float(np.exp(student(degrees) * np.sqrt(whole)))
    return factor / reach, factor * reach
