"""What one knows before a run: the speed-up expected from other texts, and how far luck reaches."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import REPLICATES, Interval, interval, resampled_prompts
from estimator.traces.traces import Trace
from simulator.acceptance.replay import draft_lengths, expected_seconds
from simulator.cost.curves import CostModel


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
    lengths = draft_lengths(trace.tokens, gamma, limit=trace.limit, drafted=trace.drafted)
    while (active := position < trace.tokens).any():
        start = position[active]
        length = lengths[start]
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
    texts: Sequence[tuple[Trace, Trace]],
    gamma: int,
    cost: CostModel,
    *,
    noise: NDArray[np.float64],
    generator: np.random.Generator,
) -> Interval:
    """Returns the interval in which a run's measured speed-up on the same prompts is expected.

    Independent deviations, resampled: of the run's text and of the two texts that predict it, as
    far as two texts of one prompt differ; of the run's acceptances, drawn along the first text;
    and of the clock. At temperature 0 a prompt has one text and one outcome, and the clock alone
    remains.

    Args:
      texts: two independent texts of the target for each prompt.
      gamma: drafted tokens per block.
      cost: measured costs.
      noise: deviations of the clock on the logarithmic scale, shape (REPLICATES,).
      generator: draws resamples and acceptances.
    """
    seconds = np.array([[replay_seconds(trace, gamma, cost) for trace in pair] for pair in texts])
    base = np.array([[baseline_seconds(trace, cost) for trace in pair] for pair in texts])
    factor = base.sum() / seconds.sum()
    expected = seconds[:, 0].sum()
    # What one text takes beside the mean over a prompt's texts, in seconds of the first's length.
    one_text = (seconds[:, 0] - seconds[:, 1] * base[:, 0] / base[:, 1]) / np.sqrt(2)

    def text_luck() -> NDArray[np.float64]:
        chosen = resampled_prompts(len(texts), generator)
        signs = generator.choice([-1.0, 1.0], chosen.shape)
        total: NDArray[np.float64] = (one_text[chosen] * signs).sum(axis=1)
        return total

    drawn = sum(simulated_seconds(first, gamma, cost, generator) for first, _ in texts)
    run = expected + text_luck() + (drawn - expected)
    prediction = expected + text_luck() / np.sqrt(2)   # the mean of two texts
    return interval(factor * prediction / run * np.exp(noise), prompts=len(texts))
