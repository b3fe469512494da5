"""Acceptance rates by position, as servers print them: how often 1, 2, … tokens are accepted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance, Price
from simulator.acceptance.rate_prior import length_slopes, logits_of, rates_of
from simulator.numerics.arguments import Floats, integer, integers, probability

# Where more of the positions were not drafted, rates are bounds from below.
CUT_SHORT = 0.01
# Number of positions with their own rates; later positions get the last rate.
LONGEST = 64
# Errors of rates are computed as if rates differed from 0 and 1 by at least this.
DOUBTED = 0.01


@dataclass(frozen=True, slots=True)
class ByPosition(Acceptance):
    """Position i of a block has its own acceptance rate r_i, once all earlier ones are accepted.

        E[τ(γ)] = 1 + Σ_{i≤γ} r_1 … r_i

    The rates are assumed equal for all γ. Later positions get the last rate. Texts are long.

    conditional: r_1, …, r_γ, each in [0, 1], at least one.
    cut_short: share in [0, 1] of positions that the counted blocks did not draft, for example near
      the ends of texts. The rates count these positions as not accepted.
    """

    conditional: tuple[float, ...]
    cut_short: float = 0.0
    kind = "by_position"

    def __post_init__(self) -> None:
        rates = probability("acceptance_by_position", self.conditional)
        if rates.ndim != 1 or len(rates) == 0:
            raise ValueError(
                f"acceptance_by_position must have at least one rate, got shape {rates.shape}"
            )
        object.__setattr__(self, "conditional", tuple(rates.tolist()))

    @property
    def unconditional(self) -> tuple[float, ...]:
        """Share of all blocks that accept each position, shape (γ,)."""
        return tuple(np.cumprod(self.conditional).tolist())

    @property
    def tells_iid(self) -> bool:
        return not self.is_lower_bound

    @property
    def alpha(self) -> float:
        """The maximum-likelihood i.i.d. α: accepted tokens / (accepted tokens + rejections)."""
        rates = self.unconditional
        accepted = sum(rates)
        return accepted / (accepted + 1 - rates[-1])

    @property
    def observed_gamma(self) -> int | None:
        return len(self.conditional)

    @property
    def is_lower_bound(self) -> bool:
        return self.cut_short > CUT_SHORT

    def per_token(self, price: Price, gamma: ArrayLike) -> Floats:
        lengths = integers("gamma", gamma)
        return np.asarray(price(lengths) / self._tokens(lengths))[()]

    def _tokens(self, lengths: NDArray[np.int64]) -> Floats:
        longest = int(lengths.max(initial=0))
        beyond = [self.conditional[-1]] * max(0, longest - len(self.conditional))
        stands = np.cumprod([1.0, *self.conditional, *beyond])
        return np.asarray(np.cumsum(stands)[lengths])


@dataclass(frozen=True, slots=True, kw_only=True)
class FromCounts(ByPosition):
    """Rates by position estimated from counts, with their errors.

    alpha: α if acceptances were i.i.d.
    covariance: covariance of the rates' logits and of `change`, shape (LONGEST + 1, LONGEST + 1).
    positions: number of counted positions; 0 if only lengths were counted.
    lengths: pairs of a γ and its counted mean tokens per block, which have priority over the rates.
    change: change of the logits if the logarithm of the context grows by 1.
    origin: mean logarithm of the counted contexts; None if fewer than two contexts were counted.
    away: logarithm of the context to which the rates apply, minus `origin`.
    """

    alpha: float = field()
    covariance: Floats = field(repr=False)
    observed_gamma: int = field()
    most_gamma: int = field()
    positions: int
    lengths: tuple[tuple[int, float], ...] = ()
    change: float = 0.0
    away: float = 0.0
    origin: float | None = None
    contradictions: tuple[str, ...] = ()

    @property
    def tells_iid(self) -> bool:
        return (self.positions > 0 or len(self.lengths) > 1) and not self.is_lower_bound

    def log_lengths(self, gamma: ArrayLike) -> tuple[Floats, Floats]:
        gammas = np.atleast_1d(integers("gamma", gamma, at_least=1))
        slopes = length_slopes(np.clip(self.conditional, DOUBTED, 1 - DOUBTED), gammas)
        slopes = np.hstack([slopes, self.away * slopes.sum(axis=1, keepdims=True)])
        return np.log(self._tokens(gammas)), slopes @ self.covariance @ slopes.T

    @property
    def logit_covariance(self) -> Floats:
        count = max(self.observed_gamma, 2)
        line = np.stack([np.ones(count), np.log(np.arange(1, count + 1))], axis=1)
        rates = np.clip(self.conditional[:count], DOUBTED, 1 - DOUBTED)
        weights = np.cumprod([1.0, *rates[:-1]]) * rates * (1 - rates)
        project = np.linalg.solve(line.T @ (weights[:, None] * line), line.T * weights)
        logits = np.hstack([np.eye(count), np.full((count, 1), self.away)])
        every = [*range(count), LONGEST]
        covariance = logits @ self.covariance[np.ix_(every, every)] @ logits.T
        return np.asarray(project @ covariance @ project.T)

    def at_context(self, context: int) -> FromCounts:
        if self.origin is None:
            return self
        away = float(np.log(max(integer("context", context), 1))) - self.origin
        logits = logits_of(np.array(self.conditional)) + (away - self.away) * self.change
        return replace(self, conditional=tuple(rates_of(logits).tolist()), away=away, lengths=())

    def _tokens(self, lengths: NDArray[np.int64]) -> Floats:
        found = ByPosition._tokens(self, lengths)
        for gamma, length in self.lengths:
            found = np.where(lengths == gamma, length, found)
        return found
