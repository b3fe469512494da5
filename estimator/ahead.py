"""What one knows before a run: the speed-up expected from other texts, and how far luck reaches."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import REPLICATES, interval, resampled_prompts
from estimator.traces import Trace
from simulator.cost import CostModel
from simulator.replay import expected_seconds


def baseline_seconds(trace: Trace, cost: CostModel) -> float:
    """Returns what decoding the text one token at a time takes."""
    return trace.tokens * cost.baseline_seconds


def replay_seconds(trace: Trace, gamma: int, cost: CostModel) -> float:
    """Returns the expected seconds of decoding the text speculatively."""
    return float(
        expected_seconds(
            trace.acceptance, gamma, cost=cost, limit=trace.limit, drafted=trace.drafted
        )
    )


def replay_factor(traces: Sequence[Trace], gamma: int, cost: CostModel) -> float:
    """Returns the expected speed-up over all texts: baseline seconds over replayed seconds."""
    return sum(baseline_seconds(trace, cost) for trace in traces) / sum(
        replay_seconds(trace, gamma, cost) for trace in traces
    )


def simulated_seconds(
    trace: Trace, gamma: int, cost: CostModel, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Returns REPLICATES random durations of decoding the text: acceptances drawn, not averaged."""
    prices = np.array([cost.block_seconds(g) for g in range(gamma + 1)])
    position = np.zeros(REPLICATES, dtype=np.int64)
    seconds = np.zeros(REPLICATES)
    matrix = trace.acceptance.ndim == 2
    offsets = np.arange(gamma)
    while (active := position < trace.tokens).any():
        start = position[active]
        length = np.minimum(gamma, trace.limit - start - 1)
        if trace.drafted is not None:
            length = np.minimum(length, trace.drafted[start])
        reach = start[:, None] + offsets
        inside = (reach < trace.tokens) & (offsets < length[:, None])
        if matrix:
            odds = trace.acceptance[start][:, :gamma]
        else:
            odds = trace.acceptance[np.minimum(reach, trace.tokens - 1)]
        accepts = inside & (generator.random(inside.shape) < odds)
        accepted = accepts.cumprod(axis=1).sum(axis=1)
        seconds[active] += prices[length]
        position[active] += accepted + 1
    return seconds


def ahead_interval(
    traces: Sequence[Trace],
    gamma: int,
    cost: CostModel,
    *,
    noise: NDArray[np.float64],
    sampled: bool,
    generator: np.random.Generator,
) -> tuple[float, float]:
    """Returns the interval in which a run's measured speed-up is expected.

    Three independent deviations are added on the logarithmic scale: of the prediction (prompts
    resampled), of the run's own luck (prompts resampled again, acceptances drawn; only where
    texts are sampled: a greedy text is the same every time), and of the clock.

    Args:
      traces: one for each prompt.
      gamma: drafted tokens per block.
      cost: measured costs.
      noise: log-ratios of the baseline to itself, shape (REPLICATES,).
      sampled: whether the temperature is above 0.
      generator: draws resamples and acceptances.
    """
    base = np.array([baseline_seconds(trace, cost) for trace in traces])
    expected = np.array([replay_seconds(trace, gamma, cost) for trace in traces])
    centre = np.log(base.sum() / expected.sum())
    chosen = resampled_prompts(len(traces), generator)
    deviation = np.log(base[chosen].sum(axis=1) / expected[chosen].sum(axis=1)) - centre
    if sampled:
        drawn = np.stack([simulated_seconds(trace, gamma, cost, generator) for trace in traces])
        chosen = resampled_prompts(len(traces), generator)
        spent = drawn[chosen, np.arange(REPLICATES)[:, None]].sum(axis=1)
        deviation = deviation + np.log(base[chosen].sum(axis=1) / spent) - centre
    low, high = interval(centre + deviation + noise)
    return float(np.exp(low)), float(np.exp(high))
