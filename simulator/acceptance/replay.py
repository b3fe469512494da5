"""Replay: what decoding a recorded text costs on average, for any γ, with no i.i.d. assumption.

Given a text sampled from the target, Algorithm 1 of Leviathan et al. 2023 accepts a drafted
position with probability a = min(1, q(x)/p(x)), x being the text's own token there, independently
of other positions. So block starts are a Markov chain over positions that only moves forward, and
every expected cost is a sum over the probability v(t) that a block begins at position t:

    v(0) = 1,   v(t') = Σ_t v(t) P(t → t')
    P(t → t+k+1) = a_{t,0} … a_{t,k-1} (1 - a_{t,k}) for k < g
    P(t → t+g+1) = a_{t,0} … a_{t,g-1}

where g = min(γ, limit - t - 1) tokens are drafted, one position being left for the target's own
token. This is a triangular system with γ + 1 bands. At temperature 0, where a is 0 or 1, every
count is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost
from simulator.numerics.arguments import integer, integers, probability


def block_starts(
    acceptance: ArrayLike,
    gamma: int,
    *,
    limit: int | None = None,
    drafted: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Returns the probability that a block, that is a target call, begins at each position.

    Args:
      acceptance: probability in [0, 1] that the text's token is accepted if drafted. Shape (N,)
        where the draft's law depends on the text before alone; shape (N, K) where it depends on
        the block, entry (t, k) being for position t + k of the block that begins at t. Entries
        beyond the text or the draft are not read.
      gamma: most tokens that a block drafts, at least 0.
      limit: the decoder's max_new_tokens, at least N; without it N. A text that ended before its
        limit goes on drafting to the limit, though nothing beyond N is emitted or costs a call.
      drafted: how many tokens the drafter proposes when a block begins at each position, shape
        (N,), where that may be fewer than gamma (a prompt lookup without a match: 0).

    Returns:
      shape (N,); the first entry is 1.

    Raises:
      ValueError: if an argument is out of range or of the wrong shape.
    """
    # Imported here because it takes longer than all other formulas together.
    from scipy.linalg.lapack import dtbtrs

    rates = _acceptance(acceptance)
    bands = _bands(rates, draft_lengths(len(rates), gamma, limit=limit, drafted=drafted))
    first = np.zeros((len(rates), 1))
    first[0] = 1
    starts, status = dtbtrs(bands.T, first, uplo="U", trans="T", diag="U")
    assert status == 0
    return np.asarray(starts[:, 0])


def draft_lengths(
    positions: int,
    gamma: int,
    *,
    limit: int | None = None,
    drafted: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Returns how many tokens a block drafts when it begins at each position, shape (positions,).

    The least of gamma, what is proposed, and what can still be emitted beside the target's own
    token. Arguments and errors as in block_starts.
    """
    length = integer("gamma", gamma)
    end = positions if limit is None else integer("limit", limit, at_least=1)
    if end < positions:
        raise ValueError(f"limit must be at least the text's {positions} positions, got {end}")
    room = end - 1 - np.arange(positions)
    if drafted is not None:
        proposed = integers("drafted", drafted)
        if proposed.shape != (positions,):
            raise ValueError(f"drafted must have shape ({positions},), got {proposed.shape}")
        room = np.minimum(room, proposed)
    return np.minimum(room, length)


def block_lengths(
    acceptance: ArrayLike,
    gamma: int,
    *,
    limit: int | None = None,
    drafted: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Returns the expected number of blocks that draft 0, …, gamma tokens, shape (gamma + 1,).

    What any price of blocks needs to know of a replay: their sum is the number of target calls (the
    prompt's own pass is not one), and the accepted tokens are the text's less the calls. Arguments
    and errors as in block_starts.
    """
    starts = block_starts(acceptance, gamma, limit=limit, drafted=drafted)
    lengths = draft_lengths(len(starts), gamma, limit=limit, drafted=drafted)
    return np.asarray(np.bincount(lengths, starts, minlength=gamma + 1), dtype=np.float64)


def position_counts(
    acceptance: ArrayLike,
    gamma: int,
    *,
    limit: int | None = None,
    drafted: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the expected number of blocks that accept positions 1, …, gamma, and draft them.

    What servers count by position: a position is accepted where all before it are. Arguments and
    errors as in block_starts.
    """
    starts = block_starts(acceptance, gamma, limit=limit, drafted=drafted)
    lengths = draft_lengths(len(starts), gamma, limit=limit, drafted=drafted)
    lengths = np.minimum(lengths, np.arange(len(starts))[::-1])   # what is emitted ends the text
    rates = _acceptance(acceptance)
    accepted, offered = np.zeros(gamma), np.zeros(gamma)
    reached = starts.copy()
    for k in range(gamma):
        [drafting] = np.nonzero(lengths > k)
        reached[drafting] *= rates[drafting, k] if rates.ndim == 2 else rates[drafting + k]
        accepted[k], offered[k] = reached[drafting].sum(), starts[drafting].sum()
    return accepted, offered


def expected_calls(
    acceptance: ArrayLike,
    gamma: ArrayLike,
    *,
    limit: int | None = None,
    drafted: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Returns the expected number of target calls, shape (...) of gamma: one replay for each.

    Other arguments and errors as in block_starts.
    """
    gammas = integers("gamma", gamma)
    calls = np.empty(gammas.shape)
    for index, value in np.ndenumerate(gammas):
        calls[index] = block_lengths(acceptance, int(value), limit=limit, drafted=drafted).sum()
    return calls[()]


def expected_seconds(
    acceptance: ArrayLike,
    gamma: int,
    *,
    cost: Cost,
    limit: int | None = None,
    drafted: ArrayLike | None = None,
) -> float:
    """Returns the expected time of decoding the text, each block priced by what it drafts.

    Args:
      cost: prices a block of g drafted tokens at cost.block_seconds(g).
    """
    blocks = block_lengths(acceptance, gamma, limit=limit, drafted=drafted)
    return float(blocks @ cost.block_seconds(np.arange(len(blocks))))


def _acceptance(acceptance: ArrayLike) -> NDArray[np.float64]:
    rates = np.asarray(acceptance, dtype=np.float64)
    if rates.ndim not in (1, 2) or len(rates) == 0:
        raise ValueError(
            "acceptance must have shape (positions,) or (positions, offsets) and not be empty, "
            f"got {rates.shape}"
        )
    return probability("acceptance", rates) if rates.ndim == 1 else rates


def _bands(rates: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns I - P as LAPACK stores it, transposed: row t' holds column t', its diagonal last.

    The diagonal, all ones, is implied and left 0.
    """
    positions = len(rates)
    # No block reads beyond the text: the token after its draft is the target's own.
    lengths = np.minimum(lengths, np.arange(positions - 1, -1, -1))
    if rates.ndim == 2:
        rates = _read(rates, lengths)
    width = min(int(lengths.max()) + 1, positions - 1)
    bands = np.zeros((positions, width + 1))
    reached = np.ones(positions)
    for k in range(width):
        count = positions - k - 1
        rate = rates[:count, k] if rates.ndim == 2 else rates[k : k + count]
        # After the last drafted token the block ends, as after a rejected one.
        rate = np.where(lengths[:count] > k, rate, 0.0)
        bands[k + 1 :, width - k - 1] = -reached[:count] * (1 - rate)
        reached = reached[:count] * rate
    return bands


def _read(rates: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns the matrix with one column more than the longest draft and 0 wherever none reads."""
    longest = int(lengths.max())
    if rates.shape[1] < longest:
        raise ValueError(
            f"acceptance must have as many offsets as a block drafts, {longest}, "
            f"got {rates.shape[1]}"
        )
    read = np.zeros((len(rates), longest + 1))
    read[:, :longest] = rates[:, :longest]
    read[np.arange(longest + 1) >= lengths[:, np.newaxis]] = 0.0
    return probability("acceptance", read)
