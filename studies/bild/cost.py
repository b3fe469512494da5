"""The cost of Big Little Decoder: a small model drafts, a large one checks and rolls back.

Kim et al. 2023 (BiLD), Algorithm 1: the small model drafts while it is confident, at most
`max_draft` tokens, one or more (10 in their section 7.1.2). Then the large model reads the draft in
one call. It replaces the first drafted token that is too far from its own distribution, or else
adds the next token. The paper measures costs and gives no formula. These formulas follow from
Algorithm 1 with independent positions, as in Leviathan et al. 2023, Eq. 1.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import expected_tokens
from simulator.cost.cost import Cost
from simulator.numerics.arguments import integer, probability, same_shape


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

    def latency(self, cost: Cost) -> NDArray[np.float64]:
        """Returns time per token, relative to the large model without a draft.

            (Σ_k draft_lengths[k]·(t_d(k) + t_p(k+1) + t_o) + Σ_k unread_lengths[k]·t_d(k) + r·t_q)
                / (tokens·(t_p(1) + t_b))

        where r counts the small model's unconfident calls, which draft nothing. The inverse is the
        speed-up of Kim et al. 2023, Figure 8.

        cost: its draft step is the small model's step, its target the large model.
        """
        read = np.arange(self.draft_lengths.shape[-1])
        unread = np.arange(self.unread_lengths.shape[-1])
        seconds = (
            (self.draft_lengths * cost.block_seconds(read)).sum(axis=-1)
            + (self.unread_lengths * cost.drafting_seconds(unread)).sum(axis=-1)
            + (self.small_calls - self.drafted_tokens) * cost.c * cost.step_seconds
        )
        return np.asarray(seconds / (self.tokens * cost.baseline_seconds))[()]

    def operations(self, c_hat: float) -> NDArray[np.float64]:
        """Returns operations per token, relative to the large model ("FLOPs" of Figure 8).

            (small_calls·ĉ + read + large_calls) / tokens

        where `read` counts the drafted tokens that the large model reads, rolled-back ones included
        (Kim et al. 2023, section 7.5.1), and ĉ is the small model's operations per token over the
        large one's.
        """
        large = _weighted_lengths(self.draft_lengths) + self.large_calls
        return np.asarray((self.small_calls * c_hat + large) / self.tokens)[()]

    def memory_traffic(self, bytes_ratio: float) -> NDArray[np.float64]:
        """Returns memory traffic per token, relative to the large model ("MOPs" of Figure 8).

            (small_calls·m + large_calls) / tokens        (Kim et al. 2023, section 7.5.1)

        bytes_ratio: m, bytes that one call of the small model reads over one of the large model.
        """
        return np.asarray((self.small_calls * bytes_ratio + self.large_calls) / self.tokens)[()]


def expected_calls(fallback: ArrayLike, *, rollback: ArrayLike, max_draft: int) -> BildCalls:
    """Returns the mean calls and tokens per call of the large model.

        tokens      = (1 - s^(K+1)) / (1 - s),   s = (1 - fallback)·(1 - rollback)
        small_calls = (1 - (1 - fallback)^K) / fallback

    K is max_draft. A drafted token survives if neither model objects, so the first line is Eq. 1 of
    Leviathan et al. 2023 with α = s. The second line counts a pass for each drafted token and one
    for an unconfident token; after K tokens this pass is not needed.

    fallback: probability that the small model is not confident at a position, shape (...).
    rollback: probability that the large model rejects a drafted token; broadcasts with fallback.
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


def _weighted_lengths(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the number of tokens in drafts that are counted by length, shape (...)."""
    return np.asarray((lengths * np.arange(lengths.shape[-1])).sum(axis=-1))
