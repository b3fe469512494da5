"""Acceptance rules: strict, lenient, and block verification."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from reference.laws import Dense, Laws, OneHot
from reference.sampling_ranges import require_lenience


class Rule(Protocol):
    """Decides which drafted tokens are accepted, and what replaces the first rejected one.

    Example: a rule that accepts nothing is lossless, because each token is then the target's.

      >>> class Nothing(Rule):
      ...     name, lossless = "nothing", True
      ...     def accepts(self, p, q, tokens, uniform):
      ...         return torch.zeros_like(tokens, dtype=torch.bool)
      ...     def replacement(self, p, q, tokens, place):
      ...         return p.at(place)
      >>> draft = OneHot(torch.tensor([3, 1]))
      >>> Nothing().accepts(draft, draft, draft.tokens, torch.rand(2))
      tensor([False, False])

    lossless: whether the output has the target's own distribution.
    """

    lossless: ClassVar[bool]

    @property
    def name(self) -> str:
        """The rule's name in reports."""

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        """Returns which tokens are accepted, shape (gamma,), bool; the first False ends the block.

        p, q: the target's and the draft's distributions at the drafted positions.
        tokens: drafted ids, shape (gamma,), int64.
        uniform: draws from [0, 1), shape (gamma,); empty if p is one-hot.
        """

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        """Returns the unnormalised distribution of the token that replaces the first rejected one.

        p, q, tokens: see `accepts`. place: index of the rejected token, shape (1,), int64.
        """


class Strict:
    """Speculative sampling (Leviathan et al. 2023, Algorithm 1): the output is distributed as p."""

    name: ClassVar[str] = "strict"
    lossless: ClassVar[bool] = True

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        if isinstance(p, OneHot):
            return p.tokens == tokens
        # r < p/q without a division. Strictly less, so that r = 0 does not accept where p = 0.
        return uniform * q.of(tokens) < p.of(tokens)

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        return Dense(residual(p.at(place).probabilities, q.at(place)))


STRICT = Strict()


def residual(p: Tensor, q: Laws) -> Tensor:
    """Returns max(0, p - q), not normalised (Leviathan et al. 2023, section 2.3).

    In rows where p equals q up to rounding, returns p: only rounding can reject a token there.
    """
    left = excess(p, q)
    return torch.where(left.sum(dim=-1, keepdim=True) > 0, left, p)


def excess(p: Tensor, q: Laws) -> Tensor:
    """Returns max(0, p - q), shape (positions, vocabulary); requires p <= 1."""
    if isinstance(q, OneHot):
        return p.scatter(1, q.tokens[:, None], 0.0)
    return (p - q.probabilities).clamp_(min=0)


@dataclass(frozen=True, slots=True)
class Lenient:
    """Accepts more tokens than the strict rule (Leviathan et al. 2023, appendix A.5); lossy.

    A token x drawn from q is accepted with probability min(1, p(x) / (l q(x))), so alpha rises to
    the sum over x of min(p(x)/l, q(x)). A rejected token is replaced as under the strict rule. With
    R the probability of a rejection, the emitted token has the distribution

        P(x) = min(q(x), p(x)/l) + R max(0, p(x) - q(x)) / sum over y of max(0, p(y) - q(y))

    and P(x) <= p(x)/l: where p(x) <= q(x) the second term is 0; elsewhere R is at most the sum of
    max(0, p - q), so P(x) <= p(x). P is as near to p in total variation as this acceptance allows;
    replacing by max(0, p - l q) would be farther, and replacing by p would break the bound.

    At temperature 0 a token x is accepted if p(x) >= l max p, with p at temperature 1; a rejected
    token is replaced by the argmax. (The paper prints the inequality the other way round, which
    would accept the least likely tokens.)

    lenience: l in (0, 1]; at 1 the rule is the strict one, except for exactly tied largest logits.
    """

    lossless: ClassVar[bool] = False
    lenience: float

    def __post_init__(self) -> None:
        require_lenience(self.lenience)

    @property
    def name(self) -> str:
        return f"lenient {self.lenience:g}"

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        if isinstance(p, Dense):
            return uniform * (self.lenience * q.of(tokens)) < p.of(tokens)
        hidden = p.at_temperature_one()
        if hidden is None:
            return p.tokens == tokens
        return hidden.of(tokens) >= self.lenience * hidden.of(p.tokens)

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        return STRICT.replacement(p, q, tokens, place)


class BlockVerification:
    """Accepts prefixes of a draft rather than single tokens (Sun et al. 2024, Algorithm 2).

    Given the first i drafted tokens X, at least i tokens are accepted with probability

        s_0 = 1,    s_i = min(1, s_{i-1} p_i(X_i) / q_i(X_i))

    (a token with a ratio above 1 increases s_i again). With

        R_i = sum over x of max(0, s_i p_{i+1}(x) - q_{i+1}(x))

    the prefix of i tokens is accepted with probability h_i = R_i / (R_i + 1 - s_i), and the whole
    draft with probability s_gamma (their Eq. 4). The result is the longest accepted prefix. The
    token after it has the distribution max(0, s_i p_{i+1} - q_{i+1}), normalised; after the whole
    draft it has p_{gamma+1}.

    The rule is lossless. Proof that at least i tokens are accepted with probability s_i, by
    induction from the draft's end, where it is the definition: at i, let A = sum over x of
    min(s_i p_{i+1}(x), q_{i+1}(x)), the probability that more than i are accepted. Then R_i =
    s_i - A, so exactly i are accepted with probability (1 - A) h_i = s_i - A. This holds for every
    draft, so a policy's decision to stop may depend on the tokens. As s_i is at least the product
    of min(1, p/q), at least as many tokens are accepted as by the strict rule; both rules accept
    equally many if q, or p, is one-hot.
    """

    name: ClassVar[str] = "block"
    lossless: ClassVar[bool] = True

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        if isinstance(p, OneHot):
            # Shares are 0 or 1, so no random number is needed.
            return (p.tokens == tokens).cumprod(dim=0).bool()
        share = shares(p, q, tokens)
        left = excess(share[:-1, None] * p.probabilities, q)[1:].sum(dim=-1)
        among = left + 1 - share[1:-1]
        # The quotient is undefined only where p equals q; there the next token is accepted.
        middle = torch.where(among > 0, uniform[:-1] * among < left, True)
        beginnings = torch.cat([middle, uniform[-1:] < share[-1:]])
        # A token is accepted if any prefix that contains it is.
        return beginnings.flip(0).long().cummax(dim=0).values.flip(0).bool()

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        share = shares(p, q, tokens)[place]
        target = p.at(place).probabilities
        return Dense(residual(share[:, None] * target, q.at(place)))


def shares(p: Dense, q: Laws, tokens: Tensor) -> Tensor:
    """Returns s_0, …, s_gamma (Sun et al. 2024); s_i: probability that at least i are accepted."""
    # 0/0 needs q(x) = 0 for a token drawn from q: rounding, and p(x) is 0 as well.
    ratio = (p.of(tokens) / q.of(tokens)).nan_to_num(nan=0.0)
    share = [ratio.new_ones(())]
    for step in ratio.unbind():
        share.append((share[-1] * step).clamp_(max=1.0))
    return torch.stack(share)
