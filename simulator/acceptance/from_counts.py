"""Acceptance estimated from counts: rates by position or mean lengths, at one or several contexts.

The rates' logits x have the normal prior N(m, P) of the kind of draft (`rate_prior`). Counts are
logarithms y = h(x) + ε of mean tokens per block, with Var ε = R (`Accepted.noise`). The estimate is

    x̂ = argmin_x |P^{-1/2} (x - m)|² + |(s² R)^{-1/2} (y - h(x))|²                            (1)

with s = 0.01, so that it is the most probable x among those that give the counts, which are facts
(s = 1, the posterior mode, would give lengths other than the counted). Counts that contradict each
other (`rising`) cannot all be followed: s = 1 for them. Counted positions have their counted rates.

To first order x̂ - m = K (y - h(m)). With H = dh/dx at x̂, K and the covariance of the error are

    K = P Hᵀ (H P Hᵀ + s² R')⁻¹,   Cov(x̂ - x) = (I - K H) P (I - K H)ᵀ + K R' Kᵀ,

the covariance for any K (Bucy and Joseph 1968). Errors of counts that miss the estimate by more
than their errors grow to the miss (Birge's ratio, Birge 1932):

    R'_ij = R_ij b_i b_j,   b_i = max(1, |y - h(x̂)|_i / √R_ii).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import PositionRates, Source
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.contradictory_counts import rising, unfitting
from simulator.acceptance.rate_prior import (
    RatePrior,
    length_slopes,
    log_lengths_of,
    logits_of,
    most_gamma,
    most_probable,
    rate_prior,
    rates_of,
)
from simulator.acceptance.tokens import alpha_from_block_efficiency
from simulator.numerics.arguments import Floats, integer, integers

# Standard deviation of the slope of all logits over the logarithm of the context.
_BY_CONTEXT = 0.3
# s of equation (1).
_SHARPER = 0.01


_COUNTS = Source(counted=True)
# Number of positions with their own rates; later positions get the last rate.
LONGEST = 64
# Errors of rates are computed as if rates differed from 0 and 1 by at least this.
DOUBTED = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class FromCounts(PositionRates):
    """Rates by position estimated from counts, with their errors.

    alpha: α if acceptances were i.i.d.
    covariance: covariance of the rates' logits and of `change`, shape (LONGEST + 1, LONGEST + 1).
    counted: the counts behind the estimate.
    positions: number of positions with counted rates; 0 if only mean tokens per block were counted.
    lengths: pairs (γ, counted mean tokens per block). At these γ they replace the result of rates,
      between them it is scaled by the interpolated ratio, beyond them by one of at most 1.
    change: change of all logits if the logarithm of the context grows by 1.
    origin: mean logarithm of the counted contexts; None if fewer than two contexts were counted.
    away: log(context to which the rates apply) - origin.
    """

    alpha: float = field()
    covariance: Floats = field(repr=False, compare=False)
    observed_gamma: int = field()
    most_gamma: int = field()
    counted: tuple[Accepted, ...] = field(repr=False, compare=False)
    positions: int
    lengths: tuple[tuple[int, float], ...] = ()
    change: float = 0.0
    away: float = 0.0
    origin: float | None = None
    contradictions: tuple[str, ...] = ()
    source: Source = field(default=_COUNTS, compare=False, repr=False)

    @property
    def tells_iid(self) -> bool:
        return (self.positions > 0 or len(self.lengths) > 1) and not self.is_lower_bound

    def log_lengths(self, gamma: ArrayLike) -> tuple[Floats, Floats]:
        gammas = np.atleast_1d(integers("gamma", gamma, at_least=1))
        slopes = length_slopes(np.clip(self.conditional, DOUBTED, 1 - DOUBTED), gammas)
        slopes = np.hstack([slopes, self.away * slopes.sum(axis=1, keepdims=True)])
        return np.log(self._tokens(gammas)), slopes @ self.covariance @ slopes.T

    def at_context(self, context: int) -> FromCounts:
        if self.origin is None:
            return self
        away = float(np.log(max(integer("context", context), 1))) - self.origin
        logits = logits_of(np.array(self.conditional)) + (away - self.away) * self.change
        kept = {part.name: getattr(self, part.name) for part in fields(FromCounts)}
        return FromCounts(
            **kept | {"conditional": tuple(rates_of(logits).tolist()), "away": away, "lengths": ()}
        )

    def _tokens(self, lengths: NDArray[np.int64]) -> Floats:
        tokens = PositionRates._tokens(self, lengths)
        if not self.lengths:
            return tokens
        gammas, counted = np.array(self.lengths).T
        apart = [0.0, *np.log(counted / PositionRates._tokens(self, gammas.astype(np.int64)))]
        ratio = np.interp(lengths, [self.positions, *gammas], apart, right=min(apart[-1], 0.0))
        least = np.where(lengths > gammas[-1], counted[-1], 1.0)
        return np.asarray(np.clip(tokens * np.exp(ratio), least, lengths + 1.0))


def from_counts(
    counted: Sequence[Accepted],
    *,
    draft_class: str | None = None,
    cut_short: float = 0.0,
    elsewhere: float = 0.0,
    prior: RatePrior | None = None,
) -> FromCounts:
    """Returns the acceptance estimated from all counts together.

    counted: the counts; if empty, the prior gives the rates.
    draft_class: class of the draft, which selects the prior (`rate_prior`) unless `prior` is given.
    cut_short: see `PositionRates`.
    elsewhere: standard deviation of a common shift of all rates' logits, if the requests to be
      served differ from the counted ones, for example in workload; 0: they do not differ.
    """
    mean, law = _law(rate_prior(draft_class) if prior is None else prior)
    several = len({counts.context for counts in counted if counts.context is not None}) > 1
    places = np.array([np.log(max(counts.context or 1, 1)) if several else 0 for counts in counted])
    origin = float(places.mean()) if several else 0.0
    data = list(zip(counted, (places - origin).tolist(), strict=True))
    measured = np.concatenate([[], *(counts.logs for counts in counted)])
    noise, ends = np.zeros((len(measured),) * 2), np.cumsum([len(one.gammas) for one in counted])
    for observation, end in zip(counted, ends, strict=True):
        rows = slice(end - len(observation.gammas), end)
        noise[rows, rows] = observation.noise()
    lengths = {} if several else _lengths(counted)
    odd = () if elsewhere > 0 else rising(lengths)
    sharper = 1.0 if odd else _SHARPER
    observed = max((counts.gamma for counts in counted), default=0)
    known = np.array([]) if several else _pooled(counted)
    likeliest = most_probable(mean, law, data, measured, sharper**2 * noise, _logits(known))
    rates = rates_of(likeliest[:-1])
    rates[: len(known)] = known
    likeliest[:-1] = _logits(rates)
    logs, slopes = log_lengths_of(likeliest, data)
    off = (measured - logs) / np.sqrt(np.diag(noise))
    wider = np.maximum(np.abs(off), 1.0)
    noise = noise * np.outer(wider, wider)
    gain = law @ slopes.T @ np.linalg.inv(slopes @ law @ slopes.T + sharper**2 * noise)
    rest = np.eye(len(law)) - gain @ slopes
    if len(known) == 0 and lengths:
        alpha = float(alpha_from_block_efficiency(lengths[max(lengths)], max(lengths)))
    else:
        alpha = PositionRates(tuple(rates[: len(known) or observed or 1].tolist())).alpha
    doubt = rest @ law @ rest.T + gain @ noise @ gain.T
    doubt[:-1, :-1] += elsewhere**2
    return FromCounts(
        tuple(rates.tolist()),
        cut_short,
        alpha=alpha,
        covariance=doubt,
        observed_gamma=observed,
        most_gamma=most_gamma(draft_class, max(observed, 1)),
        counted=tuple(counted),
        positions=max((len(counts.rates) for counts in counted), default=0),
        lengths=tuple((g, length) for g, length in lengths.items() if g > len(known)),
        change=float(likeliest[-1]) if several else 0.0,
        origin=origin if several else None,
        contradictions=odd or unfitting(counted, off, logs),
    )


def rates_of_each(counted: Sequence[Accepted], draft_class: str | None) -> Floats:
    """Returns the rates that `from_counts` estimates from each of many counts by position.

    counted: at least one; with the same γ, and none with a context. Shape (counts, LONGEST).
    """
    mean, law = _law(rate_prior(draft_class))
    measured = np.array([counts.logs for counts in counted])
    noise = _SHARPER**2 * np.array([counts.noise() for counts in counted])
    known = np.array([_pooled([counts]) for counts in counted])
    data = [(counted[0], 0.0)]
    rates = rates_of(most_probable(mean, law, data, measured, noise, _logits(known))[:, :-1])
    rates[:, : counted[0].gamma] = known
    return rates


def _logits(rates: Floats) -> Floats:
    return logits_of(np.clip(rates, DOUBTED, 1 - DOUBTED))


def _law(prior: RatePrior) -> tuple[Floats, Floats]:
    """Returns mean and covariance of the rates' logits, and of their change with the context."""
    mean, covariance = prior.law(LONGEST)
    law = np.zeros((LONGEST + 1, LONGEST + 1))
    law[:-1, :-1], law[-1, -1] = covariance, _BY_CONTEXT**2
    return np.append(mean, 0.0), law


def _pooled(counted: Sequence[Accepted]) -> Floats:
    """Returns the conditional rates of counted positions, pooled over all counts."""
    longest = max((len(counts.rates) for counts in counted), default=0)
    stood, reached = np.zeros(longest), np.zeros(longest)
    for observed in counted:
        if observed.rates:
            stood[: observed.gamma] += observed.weight * np.array(observed.rates)
            reached[: observed.gamma] += observed.weight * np.array([1.0, *observed.rates[:-1]])
    return np.divide(stood, reached, out=np.zeros(longest), where=reached > 0)


def _lengths(counted: Sequence[Accepted]) -> dict[int, float]:
    """Returns the mean tokens per block by γ, from the counts without rates by position."""
    by_gamma: dict[int, list[Accepted]] = defaultdict(list)
    for counts in counted:
        if not counts.rates:
            by_gamma[counts.gamma].append(counts)
    return {
        gamma: float(np.average([e.length for e in same], weights=[e.weight for e in same]))
        for gamma, same in sorted(by_gamma.items())
    }
