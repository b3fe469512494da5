"""The cost of Big Little Decoder: a small model drafts, a large one checks and rolls back.

Kim et al. 2023 (BiLD), Algorithm 1: the small model drafts while it is confident, at most
`max_draft` tokens (10 in their section 7.1.2). Then the large model reads the draft in one call. It
replaces the first drafted token that is too far from its own distribution, or else adds the next
token. The paper measures costs and gives no formula. These formulas follow from Algorithm 1 with
independent positions, as in Leviathan et al. 2023, Eq. 1.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import expected_tokens
from simulator.cost.cost import Cost
from simulator.numerics.arguments import integer, integers, non_negative, probability, same_shape


@dataclass(frozen=True, slots=True)
class BildCalls:
    """Calls of Big Little Decoder: expected per large call, or counted over a text.

    tokens: emitted tokens, shape (...).
    small_calls: forward passes of the small model, unconfident ones included.
    draft_lengths: shape (..., max_draft + 1); entry k counts large calls after k drafted tokens.
    unread_lengths: the same counts for drafts that end a text without a large call.
    """

    tokens: NDArray[np.float64]
    small_calls: NDArray[np.float64]
    draft_lengths: NDArray[np.float64]
    unread_lengths: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))

    @property
    def large_calls(self) -> NDArray[np.float64]:
        """Forward passes of the large model; over `tokens`, the paper's fallback percentage."""
        return np.asarray(self.draft_lengths.sum(axis=-1))

    @property
    def drafted_tokens(self) -> NDArray[np.float64]:
        """Tokens proposed by the small model."""
        return _weighted_lengths(self.draft_lengths) + _weighted_lengths(self.unread_lengths)


def expected_calls(fallback: ArrayLike, *, rollback: ArrayLike, max_draft: int) -> BildCalls:
    """Returns the mean calls and tokens per call of the large model.

        tokens      = (1 - s^(K+1)) / (1 - s),   s = (1 - fallback)·(1 - rollback)
        small_calls = (1 - (1 - fallback)^K) / fallback

    K is max_draft. A drafted token survives if neither model objects, so the first line is Eq. 1 of
    Leviathan et al. 2023 with α = s. The second line counts a pass for each drafted token and one
    for an unconfident token; after K tokens this pass is not needed.

    fallback: probability that the small model is not confident at a position, shape (...).
    rollback: probability that the large model rejects a drafted token; broadcasts with fallback.
    max_draft: most tokens drafted before the large model is called, at least 1.
    """
    falls = probability("fallback", fallback)
    rolls = probability("rollback", rollback)
    same_shape({"fallback": falls, "rollback": rolls})
    limit = integer("max_draft", max_draft, at_least=1)
    confident = (1 - falls)[..., np.newaxis] ** np.arange(limit + 1)
    stops = np.concatenate([confident[..., :-1] * falls[..., np.newaxis], confident[..., -1:]], -1)
    tokens = np.asarray(expected_tokens((1 - falls) * (1 - rolls), limit))
    return BildCalls(
        tokens=tokens,
        small_calls=np.broadcast_to(confident[..., :-1].sum(axis=-1), tokens.shape),
        draft_lengths=np.broadcast_to(stops, (*tokens.shape, limit + 1)),
    )


def count_calls(
    confidence: ArrayLike,
    *,
    distance: ArrayLike,
    fallback_threshold: float,
    rollback_threshold: float,
    max_draft: int,
    ends: ArrayLike | None = None,
) -> BildCalls:
    """Returns the calls for a recorded text, block by block (Kim et al. 2023, Algorithm 1).

    A draft continues after a token that will be rolled back, and no large call reads a draft that
    ends the text. So confidence should be recorded along the draft that begins at each position.

    Args:
      confidence: max_y p_S(y) of the small model along the draft that begins at each position,
        shape (n, max_draft or more), or only along the text, shape (n,); NaN: not confident.
      distance: d(p_S, p_L) at each position, shape (n,).
      fallback_threshold: α_FB; a lower confidence calls the large model.
      rollback_threshold: α_RB; a larger distance rolls back.
      max_draft: most tokens drafted before the large model is called, at least 1.
      ends: number of tokens after which the draft at each position ends the text, at least 1,
        shape (n,); None: at the end of the recorded text.
    """
    confident = np.asarray(confidence, dtype=np.float64) >= fallback_threshold
    far = np.asarray(distance, dtype=np.float64) > rollback_threshold
    limit = integer("max_draft", max_draft, at_least=1)
    if far.ndim != 1 or far.size == 0 or confident.shape[:1] != far.shape or confident.ndim > 2:
        raise ValueError(
            "confidence and distance must be of one length and not empty, the distance of one "
            f"dimension, got shapes {confident.shape} and {far.shape}"
        )
    end = far.size
    sure = _sure_lengths(confident, limit)
    last = end - np.arange(end) if ends is None else integers("ends", ends, at_least=1)
    if last.shape != far.shape:
        raise ValueError(f"ends must be of the length of distance, {end}, got shape {last.shape}")
    next_far = _next_true(far)
    lengths, unread = np.zeros(limit + 1), np.zeros(limit + 1)
    small_calls = 0
    start = 0
    while start < end:
        drafted = min(int(sure[start]), int(last[start]))
        if drafted == last[start]:
            small_calls += drafted
            unread[drafted] += 1
            start += drafted
            break
        small_calls += drafted + (drafted < limit)
        lengths[drafted] += 1
        start = min(int(next_far[start]), start + drafted) + 1
    return BildCalls(
        tokens=np.asarray(float(start)),
        small_calls=np.asarray(float(small_calls)),
        draft_lengths=lengths,
        unread_lengths=unread,
    )


def relative_latency(calls: BildCalls, cost: Cost) -> NDArray[np.float64]:
    """Returns time per token, relative to the large model without a draft.

        (Σ_k draft_lengths[k]·(t_d(k) + t_p(k+1) + t_o) + Σ_k unread_lengths[k]·t_d(k) + r·t_q)
            / (tokens·(t_p(1) + t_b))

    where r counts the small model's unconfident calls, which draft nothing. The inverse is the
    speed-up of Kim et al. 2023, Figure 8.

    cost: its draft step is the small model's step, its target the large model.
    """
    read = np.arange(calls.draft_lengths.shape[-1])
    unread = np.arange(calls.unread_lengths.shape[-1])
    seconds = (
        (calls.draft_lengths * cost.block_seconds(read)).sum(axis=-1)
        + (calls.unread_lengths * cost.drafting_seconds(unread)).sum(axis=-1)
        + (calls.small_calls - calls.drafted_tokens) * cost.c * cost.step_seconds
    )
    return np.asarray(seconds / (calls.tokens * cost.baseline_seconds))[()]


def relative_operations(calls: BildCalls, *, c_hat: ArrayLike) -> NDArray[np.float64]:
    """Returns operations per token, relative to the large model ("FLOPs" of Figure 8).

        (small_calls·ĉ + read + large_calls) / tokens

    where `read` counts the drafted tokens that the large model reads, rolled-back ones included
    (Kim et al. 2023, section 7.5.1).

    c_hat: operations per token of the small model over the large one's.
    """
    ratio = non_negative("c_hat", c_hat)
    same_shape({"calls": calls.tokens, "c_hat": ratio})
    large = _weighted_lengths(calls.draft_lengths) + calls.large_calls
    return np.asarray((calls.small_calls * ratio + large) / calls.tokens)[()]


def relative_memory_traffic(calls: BildCalls, *, bytes_ratio: ArrayLike) -> NDArray[np.float64]:
    """Returns memory traffic per token, relative to the large model ("MOPs" of Figure 8).

        (small_calls·m + large_calls) / tokens        (Kim et al. 2023, section 7.5.1)

    bytes_ratio: m, bytes that one call of the small model reads over one of the large model.
    """
    ratio = non_negative("bytes_ratio", bytes_ratio)
    same_shape({"calls": calls.tokens, "bytes_ratio": ratio})
    return np.asarray((calls.small_calls * ratio + calls.large_calls) / calls.tokens)[()]


def relative_intensity(
    calls: BildCalls, *, c_hat: ArrayLike, bytes_ratio: ArrayLike
) -> NDArray[np.float64]:
    """Returns operations per byte, relative to the large model (Figure 8)."""
    operations = relative_operations(calls, c_hat=c_hat)
    return np.asarray(operations / relative_memory_traffic(calls, bytes_ratio=bytes_ratio))[()]


def _sure_lengths(confident: NDArray[np.bool_], limit: int) -> NDArray[np.int64]:
    """Returns the length of the draft from each position, ignoring ends of text, shape (n,)."""
    if confident.ndim == 1:
        sure = _next_true(~confident) - np.arange(confident.size)
    elif confident.shape[1] < limit:
        raise ValueError(
            f"confidence must be of {limit} places of a draft, got {confident.shape[1]}"
        )
    else:
        sure = np.logical_and.accumulate(confident, axis=1).sum(axis=1)
    return np.asarray(np.minimum(sure, limit), dtype=np.int64)


def _weighted_lengths(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the number of tokens in drafts that are counted by length, shape (...)."""
    return np.asarray((lengths * np.arange(lengths.shape[-1])).sum(axis=-1))


def _next_true(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns the first true position at or after each position; the length if there is none."""
    positions = np.where(mask, np.arange(mask.size), mask.size)
    return np.asarray(np.minimum.accumulate(positions[::-1])[::-1], dtype=np.int64)
