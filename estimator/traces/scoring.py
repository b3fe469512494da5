"""Makes traces: target and draft score a text once, for every way to sample the draft."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from estimator.traces.own_paths import CONFIDENT, own_paths
from estimator.traces.traces import (
    DraftSampling,
    RecordedConfidence,
    Trace,
    TracePair,
    Verification,
)
from reference.drafter import Drafter
from reference.laws.sampling import Sampling
from reference.laws.scoring import ScoreOptions, Scores
from reference.rules.block_verification import BlockVerification
from reference.rules.rule import Lenient, Rule, Strict
from reference.score_text import score_text
from reference.speculative import Subject

Real = TypeVar("Real", bound=np.floating[Any])
# How long the draft's own paths along one text may take.
PATH_SECONDS = 2.0
LENIENCES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


def draft_sampling(drafter: Drafter) -> DraftSampling:
    """Returns how a drafter samples: "argmax" if its temperature is 0, else "sampled"."""
    return "argmax" if drafter.sampling is not None and drafter.sampling.greedy else "sampled"


def verification_of(rule: Rule) -> Verification | None:
    """Returns how an acceptance rule verifies drafts; None if replay does not support it."""
    if isinstance(rule, BlockVerification):
        return "block"
    return "token" if isinstance(rule, Strict | Lenient) else None


def known_verification(rule: Rule) -> Verification:
    """Returns how an acceptance rule verifies drafts; raises ValueError if replay cannot."""
    verification = verification_of(rule)
    if verification is None:
        raise ValueError(f"verification must be one that replay knows, got {rule.name}")
    return verification


def sampled_setting(subject: Subject) -> Sampling:
    """Returns the draft's sampling settings for `TracePair.sampled`."""
    own = _own_setting(subject)
    return replace(own, temperature=subject.sampling.temperature) if own.greedy else own


def _own_setting(subject: Subject) -> Sampling:
    own = subject.drafter.sampling
    return subject.sampling if own is None else own


def trace(
    subject: Subject,
    prompt: Sequence[int],
    tokens: Sequence[int],
    *,
    max_gamma: int,
    leniences: Sequence[float] = (),
    ahead: int = 0,
) -> Trace:
    """Returns the trace of a pair's drafts along a text of its target.

    Args:
      tokens: ids sampled from the target with the pair's settings, at least 1.
      max_gamma: the longest draft to replay.
      leniences: leniences l at which alpha(l) is recorded, each in (0, 1].
      ahead: number of tokens recorded on the draft's own path at each block start (`own_paths`); 0
        records no path and no confidence.
    """
    asked = ScoreOptions([_own_setting(subject)], leniences, max_gamma)
    [found] = _traces(subject, prompt, tokens, asked, ahead)
    return found


def trace_pair(
    subject: Subject,
    prompt: Sequence[int],
    tokens: Sequence[int],
    *,
    max_gamma: int,
    ahead: int = 0,
) -> TracePair:
    """Returns a pair's traces for both ways to sample drafts, from one pass of each model.

    alpha(l) is recorded at LENIENCES. Arguments and errors as in `trace`.
    """
    sampled = sampled_setting(subject)
    # Without a temperature the two are one.
    samplings = list(dict.fromkeys([sampled, replace(sampled, temperature=0.0)]))
    traces = _traces(subject, prompt, tokens, ScoreOptions(samplings, LENIENCES, max_gamma), ahead)
    return TracePair(traces[0], traces[-1])


def _traces(
    subject: Subject, prompt: Sequence[int], tokens: Sequence[int], asked: ScoreOptions, ahead: int
) -> list[Trace]:
    scores = score_text(
        subject.target, subject.drafter, prompt, tokens, asked, sampling=subject.sampling
    )
    limit = subject.stopping.max_new_tokens
    traces = [_trace(of_one, limit, asked.leniences) for of_one in scores]
    drafter = subject.drafter
    if ahead == 0 or not isinstance(drafter, CONFIDENT):
        return traces
    text = subject.target.beginning(prompt)
    found = []
    for sampling, one, scored in zip(asked.samplings, traces, scores, strict=True):
        if scored.confidence is None:
            return traces
        along = scored.confidence.float().numpy()
        greedy = sampling.greedy and along.ndim == 2
        starts, own = own_paths(
            drafter,
            text,
            tokens,
            sampling,
            device=subject.target.device,
            length=ahead,
            seconds=PATH_SECONDS,
            known=(along, one.ratio > 0) if greedy else None,
        )
        by_start = (
            along
            if along.ndim == 2
            else np.stack([_by_block(column) for column in np.moveaxis(along, -1, 0)], axis=-1)
        )
        found.append(replace(one, confidence=RecordedConfidence(by_start, starts, own)))
    return found


def _trace(scores: Scores, limit: int, leniences: Sequence[float]) -> Trace:
    ratio: NDArray[np.float64] = scores.ratio.numpy()
    return Trace(
        beta=scores.beta.numpy(),
        ratio=ratio if ratio.ndim == 1 else _by_block(ratio),
        drafted=None if scores.drafted is None else scores.drafted.numpy(),
        limit=limit,
        alpha_by_lenience=dict(
            zip(leniences, scores.lenient_beta.mean(dim=0).tolist(), strict=True)
        ),
        rank=None if scores.rank is None or ratio.ndim > 1 else scores.rank.numpy(),
    )


def _by_block(ratio: NDArray[Real]) -> NDArray[Real]:
    """Returns ratios of shape (N, K) indexed by block start t instead of position i.

    Entry (i, k), for the block that began at i - k, moves to (i - k, k); 0 after the end.
    """
    positions, offsets = ratio.shape
    k = np.arange(offsets)
    padded = np.concatenate([ratio, np.zeros((offsets, offsets), dtype=ratio.dtype)])
    blocks: NDArray[Real] = padded[np.arange(positions)[:, None] + k, k]
    return blocks
