"""The cost of Big Little Decoder (Kim et al. 2023), by formulas that follow from its Algorithm 1.

The small model drafts while it is confident, at most `max_draft` tokens. Then the large model reads
the draft in one call. It replaces the first drafted token that is too far from its own
distribution, or else adds the next token. The paper measures costs and gives no formula.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.tokens import expected_tokens
from simulator.cost.cost import Cost
from simulator.numerics.arguments import integer, probability


@dataclass(frozen=True, slots=True)
class BildCalls:
    """Numbers of model calls in Big Little Decoder: expected per large call, or counted in a text.

    tokens: number of emitted tokens.
    small_calls: forward passes of the small model, including those that left it unconfident.
    draft_lengths: shape (max_draft + 1,); entry k counts large calls after k drafted tokens.
    unread_lengths: entry k counts drafts of k tokens that end a text without a large call.
    """

    tokens: float
    small_calls: float
    draft_lengths: NDArray[np.float64]
    unread_lengths: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))

    @property
    def large_calls(self) -> float:
        """Number of passes of the large model; the paper divides it by `tokens` ("fallback %")."""
        return float(self.draft_lengths.sum())

    @property
    def read_tokens(self) -> float:
        """Number of drafted tokens that the large model reads, rolled-back ones included."""
        return float((self.draft_lengths * np.arange(len(self.draft_lengths))).sum())

    @property
    def drafted_tokens(self) -> float:
        """Number of tokens that the small model proposes."""
        unread = self.unread_lengths
        return self.read_tokens + float((unread * np.arange(len(unread))).sum())

    def latency(self, cost: Cost) -> float:
        """Returns the time per token, relative to the large model without a draft.

            (Σ_k draft_lengths[k]·(t_d(k) + t_p(k+1) + t_o) + Σ_k unread_lengths[k]·t_d(k) + r·t_q)
                / (tokens·(t_p(1) + t_b))

        Times: t_d(k) to draft k tokens, t_p(n) of a large pass over n tokens, t_q of a small pass,
        t_o and t_b of the overhead with and without a draft. r is the number of small passes that
        drafted nothing. The inverse is the speed-up of Kim et al. 2023, Figure 8.

        cost: gives these times; the small model is the draft, the large model the target.
        """
        read, unread = (np.arange(len(of)) for of in (self.draft_lengths, self.unread_lengths))
        seconds = (
            (self.draft_lengths * cost.block_seconds(read)).sum()
            + (self.unread_lengths * cost.drafting_seconds(unread)).sum()
            + (self.small_calls - self.drafted_tokens) * cost.c * cost.step_seconds
        )
        return float(seconds / (self.tokens * cost.baseline_seconds))

    def operations(self, c_hat: float) -> float:
        """Returns operations per token, relative to the large model ("FLOPs" of Figure 8).

            (small_calls·ĉ + read_tokens + large_calls) / tokens        (section 7.5.1)

        c_hat: ĉ, the small model's operations per token, divided by the large model's.
        """
        large = self.read_tokens + self.large_calls
        return (self.small_calls * c_hat + large) / self.tokens

    def memory_traffic(self, bytes_ratio: float) -> float:
        """Returns memory traffic per token, relative to the large model ("MOPs" of Figure 8).

            (small_calls·m + large_calls) / tokens        (section 7.5.1)

        bytes_ratio: m, bytes that a call of the small model reads / bytes of a large model's call.
        """
        return (self.small_calls * bytes_ratio + self.large_calls) / self.tokens


def expected_calls(fallback: float, *, rollback: float, max_draft: int) -> BildCalls:
    """Returns the expected numbers of emitted tokens and of small calls for each large call.

        tokens      = (1 - s^(K+1)) / (1 - s),   s = (1 - fallback)·(1 - rollback)
        small_calls = (1 - (1 - fallback)^K) / fallback

    K is max_draft, and positions are independent. A drafted token is emitted if neither model
    objects, so the first line is Eq. 1 of Leviathan et al. 2023 with α = s. The second line counts
    one pass for each drafted token, and one for an unconfident token that ends a draft before K.

    fallback: probability that the small model is not confident at a position.
    rollback: probability that the large model rejects a drafted token.
    max_draft: largest number of tokens in a draft, at least 1 (10 in the paper's section 7.1.2).
    """
    probability("fallback", fallback)
    probability("rollback", rollback)
    confident = (1 - fallback) ** np.arange(integer("max_draft", max_draft, at_least=1) + 1)
    return BildCalls(
        tokens=float(expected_tokens((1 - fallback) * (1 - rollback), max_draft)),
        small_calls=float(confident[:-1].sum()),
        draft_lengths=np.append(confident[:-1] * fallback, confident[-1]),
    )
