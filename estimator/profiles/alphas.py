"""Acceptance over texts: one rate, and by position, with intervals; with each text left out."""

from collections.abc import Sequence

import numpy as np

from estimator.intervals import CONFIDENCE, left_out, rate, ratio_interval
from estimator.profiles.drafting import Alpha, Estimate
from estimator.traces.traces import Trace, alpha
from simulator.acceptance.replay import position_counts

TINY = 1e-9   # blocks: what rounding leaves of none


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


def accepted_by_position(traces: Sequence[Trace], gamma: int) -> tuple[Estimate, ...]:
    """Returns the share of blocks of γ that accept their tokens 1, 2, …, as far as any has them.

    Of the blocks that draft so far: the last ones of a text draft less. A share over a single text
    has no interval.

    Args:
      traces: one for each prompt, at least one.
      gamma: drafted tokens of a block, at most those that were replayed.
    """
    counts = [
        position_counts(trace.acceptance, gamma, limit=trace.limit, drafted=trace.drafted)
        for trace in traces
    ]
    accepted, offered = (np.array(each) for each in zip(*counts, strict=True))
    drafted = int((offered.sum(axis=0) > 0).sum())
    found = []
    for above, below in zip(accepted.T[:drafted], offered.T[:drafted], strict=True):
        known = len(traces) > 1 and bool((left_out(below) > TINY).all())
        interval = ratio_interval(above, below, scale=rate) if known else (None, None)
        found.append(Estimate(float(above.sum() / below.sum()), *interval))
    return tuple(found)
