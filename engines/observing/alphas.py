"""The acceptance rate α from counts, with bounds for blocks cut short; its spread by request.

Counts do not distinguish a block with a rejected token from a block that drafted fewer than γ
tokens, all of them accepted. So α lies between two values. The lower one assumes that no block was
cut short. The upper one assumes as many short blocks as the missing drafted tokens allow.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, xlogy

from engines.counting import RateInterval, rate_interval
from simulator.acceptance.tokens import alpha_from_accepted_fraction
from simulator.numerics.intervals import deviations


class RequestCounts(NamedTuple):
    """Counts of one request; trials: verified positions, estimated as accepted tokens / α.

    context: tokens of the prompt and of half of the output; None: not known.
    """

    drafts: int
    drafted: int
    accepted: int
    trials: float
    category: str | None = None
    context: int | None = None


def alpha_of_positions(hits: Sequence[int], *, drafts: int, left_out: int) -> RateInterval:
    """Returns the maximum-likelihood α: accepted / (accepted + blocks with a rejected token).

    A block with fewer than γ accepted tokens has a rejected token or was cut short. The value and
    the interval's lower end assume a rejected token in each such block. The upper end assumes that
    as many of them were cut short as `left_out` allows. Both ends are from Wilson's intervals.

    hits: number of blocks that accepted positions 1, …, γ, shape (γ,).
    drafts: number of blocks, at least 1.
    left_out: γ times the number of blocks, minus the number of drafted tokens.
    """
    gamma, accepted = len(hits), sum(hits)
    most = fewest = drafts - hits[-1]
    for position in range(gamma - 1, 0, -1):
        ended_here = hits[position - 1] - hits[position]
        whole = min(ended_here, left_out // (gamma - position))
        fewest, left_out = fewest - whole, left_out - whole * (gamma - position)
    interval = rate_interval(accepted, accepted + most)
    return RateInterval(
        interval.value, interval.low, rate_interval(accepted, accepted + fewest).high
    )


def alpha_of_totals(accepted: int, *, drafted: int, drafts: int, gamma: int) -> RateInterval:
    """Returns the α that explains the total number of accepted tokens.

        accepted = Σ_{i≤γ} d_i α^i            (Leviathan et al. 2023, §3.1)

    where d_i is the number of blocks that drafted position i; only the sum of the d_i is known. The
    value and the lower end assume that every block drafted γ tokens. The upper end assumes that as
    many blocks as possible drafted none.

    accepted, drafted: numbers of tokens. drafts: number of blocks, at least 1.
    gamma: drafted tokens of a block that is not cut short, at least 1.
    """
    fewest = drafted / gamma
    lower, upper = _of_whole_blocks(accepted, np.array([max(drafts, fewest), fewest]), gamma)
    return replace(lower, high=upper.high)


def iid_p_value(hits: Sequence[int], *, drafts: int) -> float | None:
    """Returns the p-value of equal acceptance at all positions; None if blocks reached only one.

    The likelihood-ratio test compares one conditional rate for all positions with a rate for each.
    For large counts its statistic has a χ² distribution (Wilks 1938).

    hits: number of blocks that accepted positions 1, …, γ, shape (γ,).
    """
    pairs = [(wins, of) for of, wins in pairwise((drafts, *hits)) if of > 0]
    if len(pairs) < 2:
        return None
    wins, of = np.array(pairs, dtype=np.float64).T

    every, one = (
        (xlogy(n, n / all_) + xlogy(all_ - n, 1 - n / all_)).sum()
        for n, all_ in ((wins, of), (wins.sum(), of.sum()))
    )
    return float(chdtrc(len(pairs) - 1, max(0.0, 2 * (every - one))))


def alpha_spread(requests: Sequence[RequestCounts]) -> float | None:
    """Returns the standard deviation of α between requests; None for fewer than two requests.

    Sampling noise is removed by the method of moments for a beta-binomial distribution (Kleinman
    1973). The result is too large if acceptances within a text depend on each other.
    """
    if len(requests) < 2:
        return None
    trials, accepted = np.array([(request.trials, request.accepted) for request in requests]).T
    mean, shares = accepted.sum() / trials.sum(), 1 - trials / trials.sum()
    squares = float((trials * (accepted / trials - mean) ** 2).sum())
    weight = float((shares * (trials - 1)).sum())
    chance = float(mean * (1 - mean) * shares.sum())
    return math.sqrt(max(squares - chance, 0.0) / weight) if weight > 0 else None


def _of_whole_blocks(accepted: int, blocks: NDArray[np.float64], gamma: int) -> list[RateInterval]:
    """Returns α if all blocks draft γ tokens; its interval encloses intervals of two methods.

    blocks: possible numbers of blocks, shape (n,); one result for each.
    """
    # The first method uses the standard deviation of a block's number of accepted tokens. The
    # second is Wilson's, for accepted tokens and the expected number of blocks with a rejected
    # token. It also holds if no or all tokens were accepted.
    fractions, positions = accepted / (gamma * blocks), np.arange(1, gamma + 1)
    values = alpha_from_accepted_fraction(np.minimum(1.0, fractions), gamma)
    stands = values[:, None] ** positions
    means, squares = stands.sum(axis=1), ((2 * positions - 1) * stands).sum(axis=1)
    reach = deviations() * np.sqrt(np.maximum(squares - means**2, 0) / blocks) / gamma
    ends = np.clip([fractions - reach, fractions + reach], 0, 1)
    lows, highs = alpha_from_accepted_fraction(ends, gamma).tolist()
    rejected = (blocks * (1 - values**gamma)).tolist()
    wilson = [rate_interval(accepted, accepted + number) for number in rejected]
    return [
        RateInterval(value, min(known.low, low), max(known.high, high))
        for value, known, low, high in zip(values.tolist(), wilson, lows, highs, strict=True)
    ]
