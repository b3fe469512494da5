"""Makes traces: target and draft score a text once, for every way to sample the draft.

After its first wrong token a draft reads its own tokens, which the text does not have. So its
confidence there is recorded along its own path: a draft from a position where a block may begin.
"""

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from estimator.timing.batched import Ids
from estimator.traces.traces import (
    DraftSampling,
    RecordedConfidence,
    Trace,
    TracePair,
    Verification,
)
from ngram.drafters import NgramDrafter
from reference.drafter import Drafter, score_text
from reference.drafters.model_drafter import ModelDrafter
from reference.drafters.state_head import StateHeadDrafter
from reference.laws import Sampling, seeded
from reference.policies import Fixed
from reference.rules import BlockVerification, Lenient, Rule, Strict
from reference.scoring import ScoreOptions, confidence
from reference.speculative import Subject

LENIENCES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
# How long the draft's own paths along one text may take; some are timed before n is chosen.
PATH_SECONDS, TIMED = 2.0, 3
# Drafters whose tokens come from laws, under any sampling settings.
Confident = ModelDrafter | NgramDrafter | StateHeadDrafter
Paths = tuple[NDArray[np.int64], NDArray[np.float32]]


def draft_sampling(drafter: Drafter) -> DraftSampling:
    """Returns how a drafter samples: "argmax" if its temperature is 0, else "sampled"."""
    return "argmax" if drafter.sampling is not None and drafter.sampling.greedy else "sampled"


def verification_of(rule: Rule) -> Verification | None:
    """Returns how a rule verifies drafts, "token" or "block"; None if replay cannot predict it."""
    if isinstance(rule, BlockVerification):
        return "block"
    return "token" if isinstance(rule, Strict | Lenient) else None


def known_verification(rule: Rule) -> Verification:
    """Returns `verification_of(rule)`; raises ValueError if replay cannot predict the rule."""
    verification = verification_of(rule)
    if verification is None:
        raise ValueError(f"verification must be one that replay knows, got {rule.name}")
    return verification


def sampled_setting(subject: Subject) -> Sampling:
    """Returns the draft's sampling settings; a temperature of 0 is replaced by the target's."""
    setting = _own_setting(subject)
    return replace(setting, temperature=subject.sampling.temperature) if setting.greedy else setting


def _own_setting(subject: Subject) -> Sampling:
    setting = subject.drafter.sampling
    return subject.sampling if setting is None else setting


def trace(
    subject: Subject,
    prompt: Ids,
    tokens: Ids,
    *,
    max_gamma: int,
    leniences: Sequence[float] = (),
    ahead: int = 0,
) -> Trace:
    """Returns the trace of drafts along a text: how likely the target accepts each drafted token.

    tokens: ids sampled from the target with the pair's settings, at least 1.
    max_gamma: the longest draft to replay.
    leniences: leniences l at which α(l) is recorded, each in (0, 1].
    ahead: number of tokens drafted from each block start to record the draft's confidence in them
      (`own_paths`); 0: no confidence is recorded.
    """
    options = ScoreOptions([_own_setting(subject)], leniences, max_gamma)
    return _traces(subject, prompt, tokens, options, ahead)[0]


def trace_pair(
    subject: Subject, prompt: Ids, tokens: Ids, *, max_gamma: int, ahead: int = 0
) -> TracePair:
    """Returns the traces for sampled and for argmax drafts, with α(l) at LENIENCES.

    tokens, max_gamma, ahead: see `trace`. Each model scores the text once.
    """
    sampled = sampled_setting(subject)
    # At temperature 0 the two are one.
    samplings = list(dict.fromkeys([sampled, replace(sampled, temperature=0.0)]))
    options = ScoreOptions(samplings, LENIENCES, max_gamma)
    traces = _traces(subject, prompt, tokens, options, ahead)
    return TracePair(traces[0], traces[-1], tuple(tokens))


def _traces(
    subject: Subject, prompt: Ids, tokens: Ids, options: ScoreOptions, ahead: int
) -> list[Trace]:
    target, drafter = subject.target, subject.drafter
    scores = score_text(target, drafter, prompt, tokens, options, sampling=subject.sampling)
    text, traces = target.beginning(prompt), []
    for sampling, scored in zip(options.samplings, scores, strict=True):
        ratio, by_start = scored.ratio.numpy(), scored.ratio.ndim > 1
        ratio = _by_start(ratio) if by_start else ratio
        sure = None
        if ahead and isinstance(drafter, Confident) and scored.confidence is not None:
            along = scored.confidence.float().numpy()
            along = _by_start(along) if by_start else along
            known = (along, ratio > 0) if sampling.greedy and not by_start else None
            how: dict[str, Any] = {"device": target.device, "length": ahead, "known": known}
            sure = RecordedConfidence(along, *own_paths(drafter, text, tokens, sampling, **how))
        lenient = scored.lenient_beta.mean(dim=0).tolist()
        traces.append(
            Trace(
                beta=scored.beta.numpy(),
                ratio=ratio,
                drafted=None if scored.drafted is None else scored.drafted.numpy(),
                limit=subject.stopping.max_new_tokens,
                alpha_by_lenience=dict(zip(options.leniences, lenient, strict=True)),
                rank=None if scored.rank is None or by_start else scored.rank.numpy(),
                confidence=sure,
            )
        )
    return traces


def _by_start(values: NDArray[Any]) -> NDArray[Any]:
    """Returns values of shape (N, K, …), moved from (position i, k) to (block start i - k, k).

    Entries after the text's end are 0.
    """
    k = np.arange(values.shape[1])
    padded = np.concatenate([values, np.zeros((len(k), *values.shape[1:]), dtype=values.dtype)])
    return np.asarray(padded[np.arange(len(values))[:, None] + k, k])


@torch.inference_mode()
def own_paths(
    drafter: Confident,
    text: Ids,
    tokens: Ids,
    sampling: Sampling,
    *,
    device: torch.device,
    length: int,
    known: tuple[NDArray[np.float32], NDArray[np.bool_]] | None,
) -> Paths:
    """Returns block starts in a text, and the draft's confidence in the tokens it drafts from each.

    Starts are positions in 0..N, ascending: all, or every n-th if all would take more than
    PATH_SECONDS. Confidences have shape (starts, L, 3), with the columns of
    `reference.scoring.confidence` for the drafted token, and 0 after a draft's end.

    text: ids before the target's text.
    tokens: the N ids that the target wrote. The drafter has scored them, so its caches are valid.
    length: L, the number of tokens of a draft.
    known: confidences along the text, shape (N, 3), and at each position whether the draft's token
      is the text's token, shape (N,). Blocks with their first wrong token at one position have the
      same continuation, which is drafted once. None if drafts are sampled or depend on their start.
    """
    generator = seeded(device, *tokens)

    def path(start: int) -> NDArray[np.float32]:
        row = np.zeros((length, 3), dtype=np.float32)
        draft = drafter.propose([*text, *tokens[:start]], length, Fixed(length), generator)
        sure = confidence(draft.q, draft.tokens)
        if sure is not None and len(sure):
            row[: len(sure)] = sure.float().cpu().numpy()
        return row

    def within_time(places: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Any]]:
        # From the last to the first, so that the drafter's caches of the text stay valid.
        begun, chosen = monotonic(), places[::-1]
        rows = [path(int(start)) for start in chosen[:TIMED]]
        seconds = (monotonic() - begun) / len(rows)
        every = max(1, int(np.ceil(seconds * len(places) / PATH_SECONDS)))
        if every > 1:
            rows, chosen = [], places[::every][::-1]
        rows += [path(int(start)) for start in chosen[len(rows) :]]
        return chosen[::-1], rows[::-1]

    before, drafter.sampling = drafter.sampling, sampling
    try:
        if known is not None:
            along, right = known
            wrong = np.append(np.flatnonzero(~right), len(right))
            starts, paths = within_time(wrong)
            if len(starts) == len(wrong):
                rows = np.zeros((len(right) + 1, length, 3), dtype=np.float32)
                rows[wrong] = paths
                for start in np.flatnonzero(right)[::-1]:
                    rows[start] = np.concatenate([along[start][None], rows[start + 1, :-1]])
                return np.arange(len(rows)), rows
        starts, paths = within_time(np.arange(len(tokens) + 1))
        return starts, np.stack(paths)
    finally:
        drafter.sampling = before
