"""BiLD at any thresholds from a run of each model alone: what its policies see, calls, latency."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from reference.drafters.model_drafter import ModelDrafter, text_laws
from reference.laws.laws import OneHot
from reference.laws.sampling import Sampling, seeded
from reference.models.model import Model
from simulator.cost.cost import Cost
from studies.bild.cost import BildCalls, count_calls, relative_latency
from studies.bild.thresholds import Fallback, Rollback

NEVER = sys.maxsize


@dataclass(frozen=True, slots=True)
class BildTrace:
    """What BiLD's policies look at along one text.

    certainty: of the small model's law at each place of the draft that it would begin at each
      token, shape (tokens, most); NaN beyond its end.
    ends: after how many tokens that draft ends a text, shape (tokens,); NEVER if it does not.
    distance: of what the small model would have written at each token, shape (tokens,).
    same: whether that is the text's own token, shape (tokens,).
    """

    certainty: NDArray[np.float64]
    ends: NDArray[np.int64]
    distance: NDArray[np.float64]
    same: NDArray[np.bool_]


@torch.inference_mode()
def bild_trace(
    large: Model,
    drafter: ModelDrafter,
    prompt: Sequence[int],
    continuation: Sequence[int],
    *,
    fallback: Fallback,
    rollback: Rollback,
) -> BildTrace:
    """Returns what BiLD's policies look at along a text, greedily decoded.

    A draft goes on from what the small model wrote, whether or not that will be rolled back; where
    it wrote the text's own token, as the draft from the next token does. Only the others are run.

    Args:
      large: begins a new text.
      drafter: of the small model, greedy.
      prompt: ids.
      continuation: the ids after it, at least 1.
      fallback, rollback: which measure and which distance, the longest draft, and what ends a text;
        their thresholds are not looked at.
    """
    greedy = [Sampling(0.0)]
    beginning = drafter.draft.beginning(prompt)
    drafter.start(prompt, beginning)
    [p] = text_laws(large, large.start(prompt), continuation, greedy)
    [q] = text_laws(drafter.draft, beginning, continuation, greedy)
    assert isinstance(q, OneHot), "greedy laws are one-hot"
    distance = rollback.distances(p, q, q.tokens)
    same = (q.tokens == torch.tensor(continuation, device=q.device)).tolist()
    certainty = np.full((len(continuation), fallback.most), np.nan)
    ends = np.full(len(continuation), NEVER)
    drafts = replace(fallback, threshold=0.0)
    nothing_drawn = seeded(large.device, 0)
    # Backwards, so that the small model's cache always holds what comes before.
    for place in reversed(range(len(continuation))):
        if same[place] and place + 1 < len(continuation):
            own = fallback.certainty(q.at(torch.tensor([place], device=q.device)))
            certainty[place] = [own, *certainty[place + 1, :-1]]
            ends[place] = min(ends[place + 1], NEVER - 1) + 1
            continue
        text = [*beginning, *continuation[:place]]
        draft = drafter.propose(text, fallback.most, drafts, nothing_drawn)
        places = torch.arange(len(draft.tokens), device=q.device).split(1)
        certainty[place, : len(places)] = [fallback.certainty(draft.q.at(at)) for at in places]
        if len(places) > 0 and int(draft.tokens[-1]) in fallback.end_ids:
            ends[place] = len(places)
    return BildTrace(certainty, ends, np.asarray(distance.double().cpu().numpy()), np.array(same))


@dataclass(frozen=True, slots=True)
class BildPrediction:
    """Of a run at given thresholds.

    speedup: seconds per token of the large model alone over BiLD's.
    seconds: per token.
    large_calls, small_calls: per emitted token.
    """

    speedup: float
    seconds: float
    large_calls: float
    small_calls: float


def spliced(large: BildTrace, small: BildTrace, *, fallback: float, rollback: float) -> BildTrace:
    """Returns what BiLD's policies would look at: the trace along its text at these thresholds.

    BiLD writes the large model's own text until a token of the small model's stands that the large
    one would not have written. What follows is unlike that text and easier for the small model: its
    own text stands for it, place by place.
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
) -> BildPrediction:
    """Returns what BiLD takes at any thresholds, from runs of the two models alone.

    Args:
      large_traces, small_traces: along the texts of either model alone, after the same prompts.
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
    return BildPrediction(
        speedup=1 / latency,
        seconds=latency * cost.baseline_seconds,
        large_calls=float(total.large_calls) / tokens,
        small_calls=float(total.small_calls) / tokens,
    )
