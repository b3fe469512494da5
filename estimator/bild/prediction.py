"""BiLD's calls and latency at any thresholds, from one recorded run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.traces.text_laws import bild_trace
from reference.models.model import Model
from reference.policies.fallback import Fallback
from reference.rules.distance import Rollback
from simulator.cost.cost import Cost
from simulator.schemes.bild import BildCalls, count_calls, relative_latency

Trace = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Predicted:
    """Of a run at given thresholds.

    speedup: seconds per token of the large model alone over BiLD's.
    large_calls, small_calls: per emitted token.
    """

    speedup: float
    large_calls: float
    small_calls: float


def record(
    large: Model,
    small: Model,
    prompts: Sequence[Sequence[int]],
    texts: Sequence[Sequence[int]],
    *,
    fallback: Fallback,
    rollback: Rollback,
) -> list[Trace]:
    """Returns certainties and distances along each text; see `bild_trace`."""
    return [
        bild_trace(large, small, prompt, text, fallback=fallback, rollback=rollback)
        for prompt, text in zip(prompts, texts, strict=True)
    ]


def predict(
    traces: Sequence[Trace], *, fallback: float, rollback: float, most: int, cost: Cost
) -> Predicted:
    """Returns what BiLD takes at thresholds other than those of the recorded run.

    The recorded text stands for the one that these thresholds would give (`count_calls`).

    Args:
      traces: of each text.
      fallback, rollback: thresholds.
      most: the most tokens in a row that the small model writes.
      cost: measured apart.
    """
    counted = [
        count_calls(
            certainty,
            distance=distance,
            fallback_threshold=fallback,
            rollback_threshold=rollback,
            max_draft=most,
        )
        for certainty, distance in traces
    ]
    total = BildCalls(
        tokens=np.sum([calls.tokens for calls in counted], axis=0),
        small_calls=np.sum([calls.small_calls for calls in counted], axis=0),
        draft_lengths=np.sum([calls.draft_lengths for calls in counted], axis=0),
        unread_lengths=np.sum([calls.unread_lengths for calls in counted], axis=0),
    )
    tokens = float(total.tokens)
    return Predicted(
        speedup=1 / float(relative_latency(total, cost)),
        large_calls=float(total.large_calls) / tokens,
        small_calls=float(total.small_calls) / tokens,
    )
