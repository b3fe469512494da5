"""Acceptance estimated from counts: rates by position or mean lengths, at one or several contexts.

Counted rates are used unchanged. At other positions the logits of the rates follow the prior of the
kind of draft (`rate_prior`), updated by the counts. Errors of counted positions come from the
counts, errors of other positions from the prior. Lengths that contradict each other
(`length_steps`) are used at their own γ; they hardly move the rates of longer drafts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.accepted import Accepted
from simulator.acceptance.by_position import ByPosition
from simulator.acceptance.conversions import alpha_from_block_efficiency
from simulator.acceptance.length_steps import rising
from simulator.acceptance.logit_fit import (
    length_slopes,
    log_lengths_of,
    logits_of,
    most_probable,
    rates_of,
)
from simulator.acceptance.rate_prior import RatePrior, most_gamma, rate_prior
from simulator.numerics.arguments import integer, integers

# Positions with rates of their own; further ones have the last one's.
LONGEST = 64
# Standard deviation of the change of all logits with the logarithm of the context.
_BY_CONTEXT = 0.3
# Means follow the counts as if these were so much more exact than they are.
_SHARPER = 0.01
# A length further than this from what all others imply, in standard deviations, contradicts them.
_CONTRADICTS = 2.5
# Rates differ from 0 and 1 by at least this where their doubt is derived.
_DOUBTED = 0.01


@dataclass(frozen=True, slots=True)
class FromCounts(ByPosition):
    """Rates by position estimated from counts, with their errors.

    rate: α if acceptances were i.i.d.
    covariance: covariance of the rates' logits and of `change`, shape (LONGEST + 1, LONGEST + 1).
    observed, most: the largest γ that was counted, and the largest γ that may be advised.
    positions: number of counted positions; 0 if only lengths were counted.
    lengths: pairs of a γ and its counted mean tokens per block, which have priority over the rates.
    change: change of the logits per unit of the logarithm of the context.
    origin: mean logarithm of the counted contexts; None if fewer than two contexts were counted.
    away: logarithm of this context, minus `origin`.
    unfitting: warnings, one for each count that does not fit the others.
    """

    rate: float = field(kw_only=True)
    covariance: NDArray[np.float64] = field(kw_only=True, repr=False)
    observed: int = field(kw_only=True)
    most: int = field(kw_only=True)
    positions: int = field(kw_only=True)
    lengths: tuple[tuple[int, float], ...] = field(default=(), kw_only=True)
    change: float = field(default=0.0, kw_only=True)
    away: float = field(default=0.0, kw_only=True)
    origin: float | None = field(default=None, kw_only=True)
    unfitting: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def alpha(self) -> float:
        return self.rate

    @property
    def observed_gamma(self) -> int | None:
        return self.observed

    @property
    def most_gamma(self) -> int | None:
        return self.most

    @property
    def contradictions(self) -> tuple[str, ...]:
        return self.unfitting

    @property
    def tells_iid(self) -> bool:
        return (self.positions > 0 or len(self.lengths) > 1) and not self.is_lower_bound

    def log_lengths(self, gamma: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        gammas = np.atleast_1d(integers("gamma", gamma, at_least=1))
        slopes = length_slopes(np.clip(self.conditional, _DOUBTED, 1 - _DOUBTED), gammas)
        slopes = np.hstack([slopes, self.away * slopes.sum(axis=1, keepdims=True)])
        return np.log(self._tokens(gammas)), slopes @ self.covariance @ slopes.T

    @property
    def logit_covariance(self) -> NDArray[np.float64]:
        count = max(self.observed, 2)
        line = np.stack([np.ones(count), np.log(np.arange(1, count + 1))], axis=1)
        rates = np.clip(self.conditional[:count], _DOUBTED, 1 - _DOUBTED)
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

    def _tokens(self, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        found = ByPosition._tokens(self, lengths)
        for gamma, length in self.lengths:
            found = np.where(lengths == gamma, length, found)
        return found


def from_counts(
    counted: Sequence[Accepted],
    *,
    kind: str | None = None,
    cut_short: float = 0.0,
    elsewhere: float = 0.0,
    prior: RatePrior | None = None,
) -> FromCounts:
    """Returns the acceptance estimated from all counts together.

    Args:
      counted: the counts. Without any, the rates are the prior's.
      kind: kind of draft, which selects the prior (`rate_prior`); None if not known.
      cut_short: share in [0, 1] of positions that the counted blocks did not draft.
      elsewhere: standard deviation of a common change of all logits on the requests to be served,
        for example another workload.
      prior: replaces the prior of the kind.
    """
    mean, covariance = (rate_prior(kind) if prior is None else prior).law(LONGEST)
    law = np.zeros((LONGEST + 1, LONGEST + 1))
    law[:-1, :-1], law[-1, -1] = covariance, _BY_CONTEXT**2
    several = len({each.context for each in counted if each.context is not None}) > 1
    places = np.array([np.log(max(each.context or 1, 1)) if several else 0 for each in counted])
    origin = float(places.mean()) if several else 0.0
    data = list(zip(counted, (places - origin).tolist(), strict=True))
    measured = np.concatenate([[], *(each.logs for each in counted)])
    noise = _blocks([each.noise() for each in counted])
    lengths = {} if several else _lengths(counted)
    odd = () if elsewhere > 0 else rising(lengths)
    sharper = 1.0 if odd else _SHARPER
    found = most_probable(np.append(mean, 0.0), law, data, measured, sharper**2 * noise)
    rates = rates_of(found[:-1])
    observed = max((each.gamma for each in counted), default=0)
    known = np.array([]) if several else _pooled(counted)
    rates[: len(known)] = known
    found[:-1] = logits_of(np.clip(rates, _DOUBTED, 1 - _DOUBTED))
    logs, slopes = log_lengths_of(found, data)
    off = (measured - logs) / np.sqrt(np.diag(noise))
    wider = np.maximum(np.abs(off), 1.0)
    noise = noise * np.outer(wider, wider)
    gain = law @ slopes.T @ np.linalg.inv(slopes @ law @ slopes.T + sharper**2 * noise)
    rest = np.eye(len(law)) - gain @ slopes
    doubt = rest @ law @ rest.T + gain @ noise @ gain.T
    doubt[:-1, :-1] += elsewhere**2
    return FromCounts(
        tuple(rates.tolist()),
        cut_short,
        rate=_alpha(rates, len(known), observed, lengths),
        covariance=doubt,
        observed=observed,
        most=most_gamma(kind, max(observed, 1)),
        positions=max((len(each.rates) for each in counted), default=0),
        lengths=tuple((g, length) for g, length in lengths.items() if g > len(known)),
        change=float(found[-1]) if several else 0.0,
        origin=origin if several else None,
        unfitting=odd or _unfitting(counted, off, logs),
    )


def _pooled(counted: Sequence[Accepted]) -> NDArray[np.float64]:
    """Returns the conditional rates of counted positions, pooled over all counts."""
    longest = max((len(each.rates) for each in counted), default=0)
    stood, reached = np.zeros(longest), np.zeros(longest)
    for each in counted:
        if each.rates:
            stood[: each.gamma] += each.weight * np.array(each.rates)
            reached[: each.gamma] += each.weight * np.array([1.0, *each.rates[:-1]])
    return np.divide(stood, reached, out=np.zeros(longest), where=reached > 0)


def _lengths(counted: Sequence[Accepted]) -> dict[int, float]:
    """Returns the mean tokens per block by γ, from the counts without rates by position."""
    by_gamma: dict[int, list[Accepted]] = defaultdict(list)
    for each in counted:
        if not each.rates:
            by_gamma[each.gamma].append(each)
    return {
        gamma: float(np.average([e.length for e in same], weights=[e.weight for e in same]))
        for gamma, same in sorted(by_gamma.items())
    }


def _alpha(
    rates: NDArray[np.float64], known: int, observed: int, lengths: dict[int, float]
) -> float:
    """Returns the i.i.d. α: from counted positions, else from the length at the largest γ."""
    if known == 0 and lengths:
        gamma = max(lengths)
        return float(alpha_from_block_efficiency(lengths[gamma], gamma))
    stands = np.cumprod(rates[: known or observed or 1])
    return float(stands.sum() / (stands.sum() + 1 - stands[-1]))


def _unfitting(
    counted: Sequence[Accepted], off: NDArray[np.float64], logs: NDArray[np.float64]
) -> tuple[str, ...]:
    """Returns a warning for each count that contradicts the other counts."""
    ends = np.cumsum([len(each.gammas) for each in counted]) - 1
    return tuple(
        f"{each.length:.3g} tokens per call at gamma {each.gamma} do not fit the other counts, "
        f"which give {np.exp(logs[end]):.3g}: were they counted on the same requests?"
        for each, end in zip(counted, ends, strict=True)
        if abs(off[end]) > _CONTRADICTS
    )


def _blocks(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Returns a block-diagonal matrix of the given square matrices."""
    ends = np.cumsum([0, *map(len, parts)])
    whole = np.zeros((ends[-1], ends[-1]))
    for first, last, part in zip(ends, ends[1:], parts, strict=False):
        whole[first:last, first:last] = part
    return whole
