"""The α that i.i.d. acceptances would have, from counts, and its bounds where blocks are cut short.

A block that drafts fewer than γ tokens, as where a text ends or a lookup finds no more, and has all
of them accepted was not rejected, but counts do not distinguish it from a rejected one. So α lies
between its values for no such blocks and for as many as the tokens left out allow.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from engines.counting import RateInterval, rate_interval
from simulator.acceptance.conversions import alpha_from_accepted_fraction
from simulator.numerics.intervals import deviations


def alpha_of_positions(hits: Sequence[int], *, drafts: int, left_out: int) -> RateInterval:
    """Returns the α of largest likelihood: accepted / (accepted + rejected blocks).

    Args:
      hits: blocks of which positions 1, …, γ were accepted, shape (γ,).
      drafts: blocks, at least 1.
      left_out: tokens that blocks drafted fewer than γ, summed.

    Returns:
      its value and lower end if every block that was not accepted up to γ was rejected, its upper
      end if as few as possible were; ends by Wilson's interval.
    """
    gamma, accepted = len(hits), sum(hits)
    most = fewest = drafts - hits[-1]
    for position in range(gamma - 1, 0, -1):
        ended_here = hits[position - 1] - hits[position]
        whole = min(ended_here, left_out // (gamma - position))
        fewest, left_out = fewest - whole, left_out - whole * (gamma - position)
    found = rate_interval(accepted, accepted + most)
    return RateInterval(found.value, found.low, rate_interval(accepted, accepted + fewest).high)


def alpha_of_totals(accepted: int, *, drafted: int, drafts: int, gamma: int) -> RateInterval:
    """Returns the α that explains how many tokens were accepted, positions being unknown.

        accepted = Σ_{i≤γ} d_i α^i            (Leviathan et al. 2023, §3.1)

    of which the numbers d_i of blocks that drafted position i are known by their sum.

    Args:
      accepted, drafted: tokens, 0 <= accepted <= drafted.
      drafts: blocks, at least 1.
      gamma: drafted tokens of a block that is not cut short, at least 1.

    Returns:
      its value and lower end if every block drafted γ tokens, its upper end if as many as possible
      drafted none.
    """
    fewest = drafted / gamma
    lower = _of_whole_blocks(accepted, max(float(drafts), fewest), gamma)
    if drafts <= fewest:
        return lower
    return RateInterval(lower.value, lower.low, _of_whole_blocks(accepted, fewest, gamma).high)


def iid_p_value(hits: Sequence[int], *, drafts: int) -> float | None:
    """Returns how likely i.i.d. acceptances would make positions differ so much; None: not known.

    By the likelihood ratio of one conditional rate for all positions against one for each, which is
    χ² of large counts (Wilks 1938).

    Args:
      hits: blocks of which positions 1, …, γ were accepted, shape (γ,).
    """
    from scipy.special import chdtrc, xlogy

    pairs = [(wins, of) for of, wins in pairwise((drafts, *hits)) if of > 0]
    if len(pairs) < 2:
        return None
    wins, of = np.array(pairs, dtype=np.float64).T

    def likelihood(wins: np.ndarray, of: np.ndarray) -> float:
        return float((xlogy(wins, wins / of) + xlogy(of - wins, 1 - wins / of)).sum())

    ratio = 2 * (likelihood(wins, of) - likelihood(wins.sum(), of.sum()))
    return float(chdtrc(len(pairs) - 1, max(0.0, ratio)))


def _of_whole_blocks(accepted: int, blocks: float, gamma: int) -> RateInterval:
    """Returns the α of blocks of γ tokens, with the wider of two intervals."""
    # By the spread of a block's accepted tokens, and Wilson's for as many rejected blocks as
    # expected, which holds where none or all were accepted.
    fraction = accepted / (gamma * blocks)
    value = float(alpha_from_accepted_fraction(min(1.0, fraction), gamma))
    stands = value ** np.arange(1, gamma + 1)
    mean = float(stands.sum())
    square = float(((2 * np.arange(1, gamma + 1) - 1) * stands).sum())
    reach = deviations() * float(np.sqrt(max(square - mean**2, 0) / blocks)) / gamma
    wilson = rate_interval(accepted, accepted + blocks * (1 - value**gamma))
    ends = np.clip([fraction - reach, fraction + reach], 0, 1)
    low, high = alpha_from_accepted_fraction(ends, gamma).tolist()
    return RateInterval(value, min(wilson.low, low), max(wilson.high, high))
