"""The draft length of each request and of each category, and its gain over one length for all.

The few counts of a request give its α a beta distribution, which starts from the distribution of α
in the request's category (`alpha_spread`). Its rates by position are the rates of all requests
together, with their logits shifted by one number that gives the request's α.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engines.observing.alphas import RequestCounts, alpha_spread
from estimator.intervals import jackknife_interval, left_out, ratio
from estimator.profiles.parts import Estimate
from simulator.acceptance.rate_prior import logits_of, rates_of
from simulator.choice.plan import Plan

# Values of α that a request may have, and shifts of all logits.
_ALPHAS = (np.arange(200) + 0.5) / 200
_SHIFTS = np.linspace(-14, 14, 561)
# Rates differ from 0 and 1 by at least this. Counts of a prior, at least and at most.
_LEAST, _LEAST_COUNT, _MOST_COUNT = 1e-3, 0.5, 1e4
# Parts of the requests that are left out in turn, for intervals.
_PARTS = 40


class RequestLengths(NamedTuple):
    """The best draft length of each request; a length of 0 means no speculation.

    one_gamma: the best draft length for all requests.
    best: for each request, the draft length with the least expected time.
    shares: by draft length, the share of requests for which it is best.
    gain: speed with the best length of each request over the speed with `one_gamma`. It assumes
      that every α is known in advance, so no choice by request can gain more.
    categories: best draft length by category; key None for requests without a category.
    category_gain: speed with a length per category over speed with one length for all; None with
      fewer than two categories. Both lengths for a request are chosen from the other requests.
    """

    one_gamma: int
    best: tuple[int, ...]
    shares: dict[int, float]
    gain: Estimate
    categories: dict[str | None, int]
    category_gain: Estimate | None


def request_lengths(
    requests: Sequence[RequestCounts], plan: Plan, *, gamma: int
) -> RequestLengths | None:
    """Returns the best draft length of each request; None for fewer than two requests.

    plan: the plan of all requests together.
    gamma: the draft length at which requests were counted, at least 1.
    """
    if len(requests) < 2:
        return None
    gammas, seconds = _seconds_by_alpha(plan, gamma)
    tokens = np.array([request.drafts + request.accepted for request in requests], dtype=np.float64)
    names = list(dict.fromkeys(request.category for request in requests))
    category = np.array([names.index(request.category) for request in requests])
    chances = _alpha_probabilities(requests, category)
    times = tokens[:, None] * (chances @ seconds)
    one = int(times.sum(axis=0).argmin())
    shares = np.bincount(seconds.argmin(axis=1), chances.mean(axis=0), minlength=len(gammas))
    by_category = np.array([times[category == at].sum(axis=0) for at in range(len(names))])
    return RequestLengths(
        one_gamma=int(gammas[one]),
        best=tuple(gammas[times.argmin(axis=1)].tolist()),
        shares={int(gammas[at]): float(shares[at]) for at in np.flatnonzero(shares > _LEAST)},
        gain=_ideal_gain(requests, category, tokens, seconds),
        categories=dict(zip(names, gammas[by_category.argmin(axis=1)].tolist(), strict=True)),
        category_gain=None if len(names) < 2 else _category_gain(times, by_category, category),
    )


def _seconds_by_alpha(plan: Plan, counted: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Returns draft lengths, 0 first, and seconds per token for _ALPHAS, shape (alphas, lengths).

    counted: the draft length at which α was counted.
    """
    longest = max(int(plan.curve.gamma[-1]), counted)
    stands = np.diff(plan.acceptance.tokens_per_call(np.arange(longest + 1)))
    rates = stands / np.concatenate([[1.0], np.maximum(stands[:-1], _LEAST**2)])
    logits = logits_of(np.clip(rates, _LEAST, 1 - _LEAST))
    shifted = np.cumprod(rates_of(logits + _SHIFTS[:, None]), axis=1)
    accepted = shifted[:, :counted].sum(axis=1)
    alphas = accepted / (accepted + 1 - shifted[:, counted - 1])
    gammas = plan.candidates
    lengths = 1 + np.cumsum(shifted, axis=1)[:, gammas - 1]
    seconds = plan.cost.block_seconds(gammas) / lengths
    columns = [np.interp(_ALPHAS, alphas, column) for column in seconds.T]
    alone = np.full(len(_ALPHAS), plan.cost.baseline_seconds)
    return np.concatenate([[0], gammas]), np.stack([alone, *columns], axis=1)


def _alpha_probabilities(
    requests: Sequence[RequestCounts], category: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Returns each request's posterior probabilities of _ALPHAS, shape (requests, alphas)."""
    # Each category has its own mean; all of them have the same spread.
    trials = np.array([request.trials for request in requests])
    accepted = np.array([request.accepted for request in requests], dtype=np.float64)
    size = int(category.max()) + 1
    means = (np.bincount(category, accepted, size) + 0.5) / (
        np.bincount(category, trials, size) + 1
    )
    known = []
    for places in (np.flatnonzero(category == at) for at in range(size)):
        spread = alpha_spread([requests[place] for place in places.tolist()])
        known += [] if spread is None else [(len(places), spread**2)]
    square = (
        sum(n * square_of for n, square_of in known) / sum(n for n, _ in known) if known else 0.0
    )
    prior = np.clip(means * (1 - means) / max(square, 1e-9) - 1, _LEAST_COUNT, _MOST_COUNT)
    first = (means * prior)[category] + accepted
    other = ((1 - means) * prior)[category] + np.maximum(trials - accepted, 0.0)
    logs = np.outer(first - 1, np.log(_ALPHAS)) + np.outer(other - 1, np.log(1 - _ALPHAS))
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _ideal_gain(
    requests: Sequence[RequestCounts],
    category: NDArray[np.int64],
    tokens: NDArray[np.float64],
    seconds: NDArray[np.float64],
) -> Estimate:
    """Returns the speed with each request's best draft length over the speed with one for all.

    category: index of each request's category; tokens: emitted tokens; each of shape (requests,).
    seconds: seconds per token at each α and draft length, shape (alphas, lengths).
    """

    def gain(places: NDArray[np.int64]) -> float:
        chances = _alpha_probabilities([requests[at] for at in places], category[places])
        weights = tokens[places] @ chances
        return float((weights @ seconds).min() / (weights @ seconds.min(axis=1)))

    every = np.arange(len(requests))
    parts = every % min(len(requests), _PARTS)
    without = [gain(every[parts != part]) for part in range(parts.max() + 1)]
    value = gain(every)
    low, high = jackknife_interval(value, without, scale=ratio)
    return Estimate(value, None if low is None else max(low, 1.0), high)


def _category_gain(
    times: NDArray[np.float64], by_category: NDArray[np.float64], category: NDArray[np.int64]
) -> Estimate:
    """Returns the speed with one draft length per category over the speed with one for all.

    Both lengths for a request are chosen from the other requests.
    times: seconds by request and length, shape (requests, lengths).
    by_category: sums of `times` over each category's requests, shape (categories, lengths).
    category: number of each request's category, shape (requests,).
    """
    alone = np.bincount(category)[category] < 2
    rest = times.sum(axis=0) - times
    others = np.where(alone[:, None], rest, by_category[category] - times)
    every = np.arange(len(times))
    one, for_others = times[every, rest.argmin(axis=1)], times[every, others.argmin(axis=1)]
    value = float(one.sum() / for_others.sum())
    low, high = jackknife_interval(
        value, left_out(one) / left_out(for_others), scale=ratio, sizes=for_others
    )
    return Estimate(value, low, high)
