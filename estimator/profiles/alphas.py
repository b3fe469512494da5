"""The acceptance rate over all texts, and over those of each category of prompts."""

from collections.abc import Sequence

import numpy as np

from estimator.intervals import CONFIDENCE, left_out, rate, ratio_interval
from estimator.profiles.profile import Alpha
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


def alpha_by_category(
    traces: Sequence[Trace], categories: Sequence[str | None]
) -> dict[str, Alpha]:
    """Returns the acceptance rate over the texts of each category, in the order they come in.

    Args:
      traces: one for each prompt.
      categories: of each prompt; those of None are in none.
    """
    named: dict[str, list[Trace]] = {}
    for trace, category in zip(traces, categories, strict=True):
        if category is not None:
            named.setdefault(category, []).append(trace)
    return {category: measured_alpha(own) for category, own in named.items()}
