"""Predicts BiLD's calls at any thresholds from one run of each model."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray

from reference.drafter import text_laws
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import OneHot, Sampling, seeded
from reference.models.model import Model
from studies.bild.cost import BildCalls
from studies.bild.decoder import Fallback, Rollback

NEVER = sys.maxsize


@dataclass(frozen=True, slots=True)
class BildTrace:
    """The quantities that decide on BiLD's fallbacks and rollbacks, at each token of a text.

    certainty: row i has the small model's certainty of each token of a draft that begins at token
      i of the text, shape (tokens, most); NaN after the draft's end.
    ends: number of tokens after which this draft ends the text, or NEVER, shape (tokens,).
    distance: distance between both models' distributions, shape (tokens,).
    same: whether the small model's likeliest token is the text's token, shape (tokens,).
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
    policy: Fallback,
    rule: Rollback,
) -> BildTrace:
    """Returns the trace of a greedily decoded text, from which BiLD's calls are predicted.

    drafter: the greedy small model.
    continuation: the ids after the prompt, at least 1.
    policy, rule: measures of certainty and distance; their thresholds are not used.
    """
    greedy = [Sampling(0.0)]
    beginning = drafter.draft.beginning(prompt)
    drafter.start(prompt, beginning)
    [p] = text_laws(large, large.start(prompt), continuation, greedy)
    [q] = text_laws(drafter.draft, beginning, continuation, greedy)
    assert isinstance(q, OneHot), "greedy laws are one-hot"
    distance = rule.distances(p, q, q.tokens)
    same = (q.tokens == torch.tensor(continuation, device=q.device)).tolist()
    certainty = np.full((len(continuation), policy.most), np.nan)
    ends = np.full(len(continuation), NEVER)
    drafts = replace(policy, threshold=0.0)
    nothing_drawn = seeded(large.device, 0)
    # Backwards, so that the small model's cache always holds the preceding text. If the small model
    # writes the text's own token, its draft continues as the draft from the next token.
    for place in reversed(range(len(continuation))):
        if same[place] and place + 1 < len(continuation):
            sure = policy.certainty(q.at(torch.tensor([place], device=q.device)))
            certainty[place] = [sure, *certainty[place + 1, :-1]]
            ends[place] = min(ends[place + 1], NEVER - 1) + 1
            continue
        text = [*beginning, *continuation[:place]]
        draft = drafter.propose(text, policy.most, drafts, nothing_drawn)
        sure_of = list(map(policy.certainty, draft.q.split()))
        certainty[place, : len(sure_of)] = sure_of
        if sure_of and int(draft.tokens[-1]) in policy.end_ids:
            ends[place] = len(sure_of)
    return BildTrace(certainty, ends, np.asarray(distance.double().cpu().numpy()), np.array(same))


def spliced(large: BildTrace, small: BildTrace, policy: Fallback, rule: Rollback) -> BildTrace:
    """Returns the estimated trace along the text that BiLD writes at these thresholds.

    BiLD follows the large model's text until it accepts a token of the small model that the large
    one would not have written. Later tokens are easier for the small model. So all positions after
    that token are taken from the trace of the small model's own text.
    """
    certain = large.certainty[:, 0] >= policy.threshold
    kept = ~large.same & certain & (large.distance <= rule.threshold)
    if not kept.any():
        return large
    place = int(kept.argmax()) + 1
    parts = [(getattr(large, one.name), getattr(small, one.name)) for one in fields(BildTrace)]
    return BildTrace(*(np.concatenate([first[:place], other[place:]]) for first, other in parts))


def count_calls(trace: BildTrace, policy: Fallback, rule: Rollback) -> BildCalls:
    """Returns the calls with which BiLD would decode a text (Kim et al. 2023, Algorithm 1).

    The small model does not know which token will be rolled back, so it drafts on after it. No
    large call reads a draft that ends the text.
    """
    tokens, most = len(trace.certainty), policy.most
    certain = trace.certainty[:, :most] >= policy.threshold
    sure = np.logical_and.accumulate(certain, axis=1).sum(axis=1)
    lengths, unread = np.zeros(most + 1), np.zeros(most + 1)
    at = small_calls = 0
    while at < tokens:
        ends = int(trace.ends[at])
        drafted = min(int(sure[at]), ends)
        small_calls += drafted
        if drafted == ends:
            unread[drafted] += 1
            at += drafted
            break
        small_calls += drafted < most
        lengths[drafted] += 1
        read = min(at + drafted, tokens)
        far = np.flatnonzero(trace.distance[at:read] > rule.threshold)
        at = 1 + (at + int(far[0]) if far.size else read)
    return BildCalls(at, small_calls, lengths, unread)


def predict(
    large_traces: Sequence[BildTrace],
    small_traces: Sequence[BildTrace],
    policy: Fallback,
    rule: Rollback,
    *,
    max_new_tokens: int,
) -> BildCalls:
    """Returns the predicted numbers of calls of BiLD at two thresholds, over all texts.

    large_traces, small_traces: traces along each model's own texts, after the same prompts.
    policy, rule: with the thresholds of fallback and rollback.
    """
    counted = []
    for large, small in zip(large_traces, small_traces, strict=True):
        trace = spliced(large, small, policy, rule)
        left = max_new_tokens - np.arange(len(trace.ends))
        ending = replace(trace, ends=np.minimum(trace.ends, left))
        counted.append(count_calls(ending, policy, rule))
    names = [one.name for one in fields(BildCalls)]
    return BildCalls(*(sum(getattr(calls, name) for calls in counted) for name in names))
