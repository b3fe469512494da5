"""Block verification: judges a draft as a whole, and accepts more of it than the strict rule."""

from typing import ClassVar

import torch
from torch import Tensor

from reference.laws.laws import Dense, Laws, OneHot
from reference.rules.rule import residual


class BlockVerification:
    """Accepts prefixes of a draft rather than single tokens (Sun et al. 2024, Algorithm 2).

    After i drafted tokens X the remaining share of the target's probability is

        s_0 = 1,    s_i = min(1, s_{i-1} p_i(X_i) / q_i(X_i)).

    A token with a ratio above 1 increases the share again, which judging token by token never does.
    With

        R_i = sum over x of max(0, s_i p_{i+1}(x) - q_{i+1}(x))

    the prefix of i tokens is accepted with probability h_i = R_i / (R_i + 1 - s_i), and the whole
    draft with probability s_gamma (their Eq. 4). The result is the longest accepted prefix. The
    token after it has the distribution max(0, s_i p_{i+1} - q_{i+1}), normalised; after the whole
    draft it has p_{gamma+1}.

    Lossless, and given the first i tokens, at least i are accepted with probability s_i. Proof by
    induction from the draft's end, where this is the definition. At i let A = sum over x of
    min(s_i p_{i+1}(x), q_{i+1}(x)), the probability that more than i are accepted. Then R_i =
    s_i - A, so exactly i are accepted with probability (1 - A) h_i = s_i - A. As s_i is at least
    the product of min(1, p/q), at least as many tokens are accepted as by the strict rule. If one
    token is certain under q, or under p, then s_i is that product and both rules accept alike.

    A policy that ends the draft depending on drafted tokens changes nothing, because the induction
    holds for each draft.
    """

    name: ClassVar[str] = "block"
    lossless: ClassVar[bool] = True

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        if isinstance(p, OneHot):
            # Shares are 0 or 1, so no random number is needed.
            return (p.tokens == tokens).cumprod(dim=0).bool()
        share = shares(p, q, tokens)
        left = _left(p, q, share[:-1, None])[1:].sum(dim=-1)
        among = left + 1 - share[1:-1]
        # The quotient is undefined only where p equals q; there the next token is accepted.
        middle = torch.where(among > 0, uniform[:-1] * among < left, True)
        beginnings = torch.cat([middle, uniform[-1:] < share[-1:]])
        # A token is accepted if any prefix that contains it is.
        return beginnings.flip(0).long().cummax(dim=0).values.flip(0).bool()

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        share = shares(p, q, tokens)[place]
        own = p.at(place).probabilities
        return Dense(residual(share[:, None] * own, q.at(place)))


def shares(p: Dense, q: Laws, tokens: Tensor) -> Tensor:
    """Returns s_0, …, s_gamma of Sun et al. 2024: the target's share left after each token."""
    ratio = p.of(tokens) / q.of(tokens)
    share = [ratio.new_ones(())]
    for each in ratio:
        # 0/0 needs q(x) = 0 for a token drawn from q: rounding, and p(x) is 0 as well.
        share.append((share[-1] * each).nan_to_num(nan=0.0).clamp(max=1.0))
    return torch.stack(share)


def _left(p: Dense, q: Laws, share: Tensor) -> Tensor:
    """Returns max(0, s p - q), shape (gamma, vocabulary)."""
    own = share * p.probabilities
    if isinstance(q, OneHot):
        return own.scatter(1, q.tokens[:, None], 0.0)
    return (own - q.probabilities).clamp_(min=0)
