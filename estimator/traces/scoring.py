"""Makes traces: target and draft score a text once, for every way of sampling the draft."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from estimator.traces.traces import DraftSampling, Trace, TracePair, Verification
from reference.drafter import Drafter
from reference.laws.sampling import Sampling
from reference.laws.scoring import Asked, Scores
from reference.models.model import Model
from reference.rules.block_verification import BlockVerification
from reference.rules.rule import Rule
from reference.scoring import score_text

LENIENCES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


def draft_sampling(drafter: Drafter) -> DraftSampling:
    """Returns how a drafter samples as it is set: "argmax" at temperature 0."""
    own = drafter.sampling
    return "argmax" if own is not None and own.greedy else "sampled"


def verification_of(rule: Rule) -> Verification:
    """Returns how an acceptance rule judges drafts; lenient ones and others, token by token."""
    return "block" if isinstance(rule, BlockVerification) else "token"


def sampled_setting(drafter: Drafter, sampling: Sampling) -> Sampling:
    """Returns the settings of `TracePair.sampled`.

    Args:
      drafter: with settings of its own or none.
      sampling: the target's.
    """
    own = sampling if drafter.sampling is None else drafter.sampling
    return replace(own, temperature=sampling.temperature) if own.greedy else own


def trace(
    target: Model,
    drafter: Drafter,
    prompt: Sequence[int],
    tokens: Sequence[int],
    *,
    sampling: Sampling,
    limit: int,
    max_gamma: int,
    leniences: Sequence[float] = (),
) -> Trace:
    """Returns a drafter's trace, sampled as it is set, along a text that the target generated.

    Args:
      target: M_p.
      drafter: with M_q or whatever takes its place.
      prompt: ids.
      tokens: ids sampled from the target under `sampling`, at least 1.
      sampling: makes the target's laws.
      limit: max_new_tokens of the run that made the text.
      max_gamma: the longest draft that replay will be asked about.
      leniences: the l whose alpha(l) is wanted, each in (0, 1].

    Raises:
      ValueError: if the text exceeds a model's positions.
      FloatingPointError: if a model returns logits that are NaN or infinite.
    """
    own = sampling if drafter.sampling is None else drafter.sampling
    [scores] = score_text(
        target,
        drafter,
        prompt,
        tokens,
        Asked([own], leniences, max_gamma),
        sampling=sampling,
    )
    return _trace(scores, limit, leniences)


def trace_pair(
    target: Model,
    drafter: Drafter,
    prompt: Sequence[int],
    tokens: Sequence[int],
    *,
    sampling: Sampling,
    limit: int,
    max_gamma: int,
) -> TracePair:
    """Returns a drafter's traces under both ways of sampling, from one pass of each model.

    alpha(l) is recorded at LENIENCES. Arguments and errors as in `trace`.
    """
    sampled = sampled_setting(drafter, sampling)
    # Without a temperature the two are one.
    samplings = list(dict.fromkeys([sampled, replace(sampled, temperature=0.0)]))
    scores = score_text(
        target,
        drafter,
        prompt,
        tokens,
        Asked(samplings, LENIENCES, max_gamma),
        sampling=sampling,
    )
    traces = [_trace(of_one, limit, LENIENCES) for of_one in scores]
    return TracePair(traces[0], traces[-1])


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
        rank=None if scores.rank is None else scores.rank.numpy(),
    )


def _by_block(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns ratios by the block's start instead of by position; 0 beyond the text.

    Args:
      ratio: shape (N, K), entry (i, k) being of position i in the block that began at i - k.

    Returns:
      shape (N, K), entry (t, k) being of position t + k in the block that began at t.
    """
    positions, offsets = ratio.shape
    k = np.arange(offsets)
    padded = np.concatenate([ratio, np.zeros((offsets, offsets))])
    blocks: NDArray[np.float64] = padded[np.arange(positions)[:, None] + k, k]
    return blocks
