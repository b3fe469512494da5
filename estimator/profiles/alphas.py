"""The acceptance rate over texts, with its interval and with each text left out."""

from collections.abc import Sequence

import numpy as np

from estimator.intervals import CONFIDENCE, left_out, rate, ratio_interval
from estimator.profiles.drafting import Alpha
from estimator.traces.traces import Trace, alpha


def measured_alpha(traces: Sequence[Trace]) -> Alpha:
    """Returns the mean of beta over the tokens of all texts, with its interval.

    Args:
      traces: one for each prompt, at least one.
    """
    low, high = ratio_interval(
        [float(trace.beta.sum()) for trace in traces],
        [trace.tokens for trace in traces],
        scale=rate,
    )
    return Alpha(
        value=alpha(traces),
        low=low,
        high=high,
        confidence=CONFIDENCE,
        tokens=sum(trace.tokens for trace in traces),
        prompts=len(traces),
    )


def alpha_left_out(traces: Sequence[Trace]) -> tuple[float, ...]:
    """Returns the acceptance rate without each text in turn; nothing of a single one."""
    if len(traces) < 2:
        return ()
    betas = np.array([float(trace.beta.sum()) for trace in traces])
    tokens = np.array([float(trace.tokens) for trace in traces])
    without: list[float] = (left_out(betas) / left_out(tokens)).tolist()
    return tuple(min(rate, 1.0) for rate in without)
