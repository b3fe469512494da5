"""BiLD's calls and latency at any thresholds, from a run of each model alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reference.drafters.model_drafter import ModelDrafter
from reference.models.model import Model
from simulator.cost.cost import Cost
from studies.bild.cost import BildCalls, count_calls, relative_latency
from studies.bild.distance import Rollback
from studies.bild.fallback import Fallback
from studies.bild.traces import BildTrace, bild_trace


@dataclass(frozen=True, slots=True)
class Predicted:
    """Of a run at given thresholds.

    speedup: seconds per token of the large model alone over BiLD's.
    seconds: per token.
    large_calls, small_calls: per emitted token.
    """

    speedup: float
    seconds: float
    large_calls: float
    small_calls: float


def record(
    large: Model,
    drafter: ModelDrafter,
    prompts: Sequence[Sequence[int]],
    texts: Sequence[Sequence[int]],
    *,
    fallback: Fallback,
    rollback: Rollback,
) -> list[BildTrace]:
    """Returns the trace along each text; see `bild_trace`."""
    return [
        bild_trace(large, drafter, prompt, text, fallback=fallback, rollback=rollback)
        for prompt, text in zip(prompts, texts, strict=True)
    ]


def spliced(
    large: BildTrace, small: BildTrace, *, fallback: float, rollback: float
) -> BildTrace:
    """Returns what BiLD's policies would look at: the trace along its text at these thresholds.

    BiLD writes the large model's own text until a token of the small model's stands that the large
    one would not have written. What follows is unlike that text and easier for the small model: its
    own text stands for it, place by place.

    Args:
      large, small: along the texts of either model alone, after one prompt.
      fallback, rollback: thresholds.
    """
    stands = ~large.same & (large.certainty[:, 0] >= fallback) & (large.distance <= rollback)
    if not stands.any():
        return large
    place = int(stands.argmax()) + 1
    return BildTrace(
        np.concatenate([large.certainty[:place], small.certainty[place:]]),
        np.concatenate([large.ends[:place], small.ends[place:]]),
        np.concatenate([large.distance[:place], small.distance[place:]]),
        np.concatenate([large.same[:place], small.same[place:]]),
    )


def predict(
    large_traces: Sequence[BildTrace],
    small_traces: Sequence[BildTrace],
    *,
    fallback: float,
    rollback: float,
    most: int,
    max_new_tokens: int,
    cost: Cost,
) -> Predicted:
    """Returns what BiLD takes at any thresholds, from runs of the two models alone.

    Args:
      large_traces, small_traces: along the texts of either model alone, after the same prompts.
      fallback, rollback: thresholds.
      most: the most tokens in a row that the small model writes.
      max_new_tokens: of a text.
      cost: measured apart.
    """
    counted = [
        count_calls(
            trace.certainty,
            distance=trace.distance,
            fallback_threshold=fallback,
            rollback_threshold=rollback,
            max_draft=most,
            ends=np.minimum(trace.ends, max_new_tokens - np.arange(len(trace.ends))),
        )
        for large, small in zip(large_traces, small_traces, strict=True)
        for trace in [spliced(large, small, fallback=fallback, rollback=rollback)]
    ]
    total = BildCalls(
        tokens=np.sum([calls.tokens for calls in counted], axis=0),
        small_calls=np.sum([calls.small_calls for calls in counted], axis=0),
        draft_lengths=np.sum([calls.draft_lengths for calls in counted], axis=0),
        unread_lengths=np.sum([calls.unread_lengths for calls in counted], axis=0),
    )
    tokens = float(total.tokens)
    latency = float(relative_latency(total, cost))
    return Predicted(
        speedup=1 / latency,
        seconds=latency * cost.baseline_seconds,
        large_calls=float(total.large_calls) / tokens,
        small_calls=float(total.small_calls) / tokens,
    )
