"""Lenient acceptance: accepts more drafted tokens, with a bound on each token's probability."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from reference.laws.laws import Dense, Laws
from reference.rules.strict import residual


@dataclass(frozen=True, slots=True)
class Lenient:
    """Acceptance with lenience l (Leviathan et al. 2023, appendix A.5): lossy, within a bound.

    A token x drawn from q is accepted with probability min(1, p(x) / (l q(x))), so alpha rises to
    the sum over x of min(p(x)/l, q(x)). A rejected token is replaced by a draw from max(0, p - q),
    normalised, as under the strict rule, because the paper changes only the comparison. With R the
    probability of a rejection, the distribution of the emitted token is

        P(x) = min(q(x), p(x)/l) + R max(0, p(x) - q(x)) / sum over y of max(0, p(y) - q(y)).

    No token is emitted with more than p(x)/l. Where p(x) <= q(x) the second term is 0. Elsewhere
    R is at most 1 - sum of min(p, q), which is the sum of max(0, p - q), so P(x) <= p(x).
    Replacing by max(0, p - l q) would satisfy the bound, but would add to tokens that are too
    likely already. As it is, all excess over p comes from acceptance, and P is as near to p in
    total variation as this acceptance allows. (Replacing by p itself would break the bound.)

    At temperature 0 a token x is accepted if p(x) >= l max p, where p is the target's distribution
    before the argmax, at temperature 1; a rejected token is replaced by the argmax. (The paper
    prints the inequality the other way round, which would accept the least likely tokens.)

    lenience: l in (0, 1]; at 1 the rule is the strict one, except for exactly tied largest logits.
    """

    lossless: ClassVar[bool] = False
    lenience: float

    def __post_init__(self) -> None:
        if not 0 < self.lenience <= 1:
            raise ValueError(f"lenience must lie in (0, 1], got {self.lenience}")

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
        return Dense(residual(p.at(place).probabilities, q.at(place)))
