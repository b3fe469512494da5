"""Block verification: a draft is judged as a whole, and more of it stands."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from reference.laws.laws import Dense, Laws, OneHot
from reference.rules.strict import residual


@dataclass(frozen=True, slots=True)
class BlockVerification:
    """Accepts a draft's beginnings rather than its tokens (Sun et al. 2024, Algorithm 2).

    What is left of the target after i drafted tokens X is the share

        s_0 = 1,    s_i = min(1, s_{i-1} p_i(X_i) / q_i(X_i)),

    which a token of ratio above 1 restores; accepting token by token never restores it. With

        R_i = sum over x of max(0, s_i p_{i+1}(x) - q_{i+1}(x))

    the first i tokens are accepted with probability h_i = R_i / (R_i + 1 - s_i), and the whole
    draft with probability s_gamma (their Eq. 4); the longest beginning accepted stands. The token
    after it has the law of max(0, s_i p_{i+1} - q_{i+1}), normalised, or after the whole draft
    p_{gamma+1}.

    Lossless, and at least i tokens stand with probability s_i, given them: by induction from the
    draft's end, where it is so by definition. At i, with A = sum over x of min(s_i p_{i+1}(x),
    q_{i+1}(x)) the probability that more stand, R_i = s_i - A, so that just i stand with
    probability (1 - A) h_i = s_i - A. As s_i is at least the product of min(1, p/q), nowhere do
    fewer tokens stand than under the strict rule. Where one token is certain under q, or under p,
    s_i is that product, and the rules accept alike.

    A policy that ends the draft by what was drafted changes nothing: the induction is along each
    draft.
    """

    name: ClassVar[str] = "block"
    lossless: ClassVar[bool] = True

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        if isinstance(p, OneHot):
            # Shares are 0 or 1, and no draw decides.
            return (p.tokens == tokens).cumprod(dim=0).bool()
        share = shares(p, q, tokens)
        left = _left(p, q, share[:-1, None])[1:].sum(dim=-1)
        among = left + 1 - share[1:-1]
        # Nothing is left or lost only where p equals q, and there the next token is accepted.
        middle = torch.where(among > 0, uniform[:-1] * among < left, True)
        beginnings = torch.cat([middle, uniform[-1:] < share[-1:]])
        # A token stands where any beginning that holds it does.
        return beginnings.flip(0).long().cummax(dim=0).values.flip(0).bool()

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        share = shares(p, q, tokens)[place]
        own = p.at(place).probabilities
        return Dense(residual(share[:, None] * own, q.at(place)))


def shares(p: Dense, q: Laws, tokens: Tensor) -> Tensor:
    """Returns s_0, ..., s_gamma: what of the target is left after each drafted token.

    Args:
      p, q: the target's and the draft's laws at the drafted positions.
      tokens: drawn from q, shape (gamma,).

    Returns:
      shape (gamma + 1,), in [0, 1].
    """
    ratio = p.of(tokens) / q.of(tokens)
    share = [ratio.new_ones(())]
    for each in ratio:
        # 0/0 needs q(x) = 0 for a token drawn from q: rounding, and the token is not p's.
        share.append((share[-1] * each).nan_to_num(nan=0.0).clamp(max=1.0))
    return torch.stack(share)


def _left(p: Dense, q: Laws, share: Tensor) -> Tensor:
    """Returns max(0, s p - q), shape (gamma, vocabulary)."""
    own = share * p.probabilities
    if isinstance(q, OneHot):
        return own.scatter(1, q.tokens[:, None], 0.0)
    return (own - q.probabilities).clamp_(min=0)
