"""Replay: the expected cost of decoding a recorded text, for any γ, without an i.i.d. assumption.

For a text sampled from the target, Algorithm 1 of Leviathan et al. 2023 accepts a drafted position
with probability a = min(1, q(x)/p(x)), x being the text's token there, independently of other
positions. So block starts are a Markov chain through the text, and each expected cost is a sum over
the probability v(t) that a block begins at position t:

    v(0) = 1,   v(t') = Σ_t v(t) P(t → t')
    P(t → t+k+1) = a_{t,0} … a_{t,k-1} (1 - a_{t,k}) for k < g
    P(t → t+g+1) = a_{t,0} … a_{t,g-1}

where g = min(γ, limit - t - 1) tokens are drafted; one position is left for the target's own token.
This is a triangular system with γ + 1 bands. At temperature 0, a is 0 or 1 and counts are exact.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import ChangedCost, Cost
from simulator.numerics.arguments import Floats, integer, integers, probability
from simulator.numerics.elementwise import by_gamma


class Replay:
    """Computes how one recorded text would be decoded with other γ, without running models."""

    def __init__(
        self, acceptance: ArrayLike, *, limit: int | None = None, drafted: ArrayLike | None = None
    ) -> None:
        """Stores the acceptance of a text of N tokens.

        acceptance: probability in [0, 1] that the text's token is accepted if drafted. Shape (N,)
          if the draft's distribution depends only on the text before; shape (N, K) if it depends on
          the block, entry (t, k) for position t + k of the block that begins at t. Entries after
          the text's or the draft's end are not read.
        limit: the decoder's max_new_tokens, at least N; None: N. Blocks near the end of a text that
          is shorter than its limit may draft tokens after the text's end.
        drafted: most tokens that the drafter proposes in a block that begins at each position,
          shape (N,), if they may be fewer than γ (prompt lookup without a match: 0).
        """
        rates = np.asarray(acceptance, dtype=np.float64)
        if rates.ndim not in (1, 2) or len(rates) == 0:
            raise ValueError(
                "acceptance must have shape (positions,) or (positions, offsets) and not be empty, "
                f"got {rates.shape}"
            )
        self._rates = probability("acceptance", rates) if rates.ndim == 1 else rates
        positions = len(rates)
        end = positions if limit is None else integer("limit", limit, at_least=1)
        if end < positions:
            raise ValueError(f"limit must be at least the text's {positions} positions, got {end}")
        self._room = end - 1 - np.arange(positions)
        if drafted is not None:
            proposed = integers("drafted", drafted)
            if proposed.shape != (positions,):
                raise ValueError(f"drafted must have shape ({positions},), got {proposed.shape}")
            self._room = np.minimum(self._room, proposed)

    def lengths(self, gamma: ArrayLike) -> NDArray[np.int64]:
        """Returns how many tokens a block drafts if it begins at each position, shape (N,)."""
        return np.minimum(self._room, integers("gamma", gamma))

    def starts(self, gamma: ArrayLike) -> Floats:
        """Returns the probability that a block begins at each position; γ may vary by position."""
        # Imported here because it takes longer than all other formulas together.
        from scipy.linalg.lapack import dtbtrs

        bands = _bands(self._rates, self.lengths(gamma))
        first = np.zeros((len(self._rates), 1))
        first[0] = 1
        starts, status = dtbtrs(bands.T, first, uplo="U", trans="T", diag="U")
        assert status == 0
        return np.asarray(starts[:, 0])

    def blocks(self, gamma: int) -> Floats:
        """Returns the expected number of blocks that draft 0, …, γ tokens, shape (γ + 1,).

        Their sum is the number of target calls, without the prompt's pass.
        """
        counts = np.bincount(self.lengths(gamma), self.starts(gamma), minlength=gamma + 1)
        return np.asarray(counts, dtype=np.float64)

    def positions(self, gamma: int) -> tuple[Floats, Floats]:
        """Returns the expected numbers of blocks that accept, and that draft, position 1, …, γ."""
        starts = self.starts(gamma)
        accepted, offered = np.zeros(gamma), np.zeros(gamma)
        for k, (drafting, odds) in enumerate(self._accepted(gamma)):
            accepted[k] = starts[drafting] @ odds
            offered[k] = starts[drafting].sum()
        return accepted, offered

    def emitted(self, gamma: int) -> Floats:
        """Returns the expected tokens of a block that begins at each position, shape (N,)."""
        tokens = np.ones(len(self._rates))
        for drafting, odds in self._accepted(gamma):
            tokens[drafting] += odds
        return tokens

    def _accepted(self, gamma: int) -> Iterator[tuple[NDArray[np.int64], Floats]]:
        """Yields, for each drafted position 1, …, γ, the starts that draft it and accept so far.

        The starts are indices; the second array has the probability that the position and all
        before it are accepted.
        """
        rates = self._rates
        # The text ends where its last token is emitted.
        lengths = np.minimum(self.lengths(gamma), np.arange(len(rates))[::-1])
        reached = np.ones(len(rates))
        for k in range(gamma):
            [drafting] = np.nonzero(lengths > k)
            reached[drafting] *= rates[drafting, k] if rates.ndim == 2 else rates[drafting + k]
            yield drafting, reached[drafting]

    def calls(self, gamma: ArrayLike) -> Floats:
        """Returns the expected number of target calls for each γ, in the shape of gamma."""
        return by_gamma(gamma, lambda length: float(self.blocks(length).sum()))

    def seconds(self, gamma: int, cost: Cost) -> float:
        """Returns the expected time to decode the text, in the unit of the cost."""
        blocks = self.blocks(gamma)
        return float(blocks @ cost.block_seconds(np.arange(len(blocks))))


def _bands(rates: Floats, lengths: NDArray[np.int64]) -> Floats:
    """Returns I - P in LAPACK's transposed band storage; P: P(next block starts at j | at i)."""
    positions = len(rates)
    # No block reads beyond the text: the token after its draft is the target's own.
    lengths = np.minimum(lengths, np.arange(positions - 1, -1, -1))
    longest = int(lengths.max())
    if rates.ndim == 2 and (offsets := rates.shape[1]) < longest:
        raise ValueError(
            f"acceptance must have as many offsets as a block drafts, {longest}, got {offsets}"
        )
    width = min(longest + 1, positions - 1)
    bands = np.zeros((positions, width + 1))
    reached = np.ones(positions)
    for k in range(width):
        count, offset = positions - k - 1, min(k, rates.shape[-1] - 1)
        rate = rates[:count, offset] if rates.ndim == 2 else rates[k : k + count]
        # After the last drafted token the block ends, as after a rejected one.
        rate = np.where(lengths[:count] > k, rate, 0.0)
        if rates.ndim == 2:
            probability("acceptance", rate)
        bands[k + 1 :, width - k - 1] = -reached[:count] * (1 - rate)
        reached = reached[:count] * rate
    return bands


def hierarchical_cost(cost: Cost, *, inner: Cost, alpha: float, gamma: int) -> ChangedCost:
    """Returns the cost of blocks with a draft model that a cheaper drafter speeds up.

        drafting(n) = c t_p(1) W(n) / t        (Leviathan et al. 2023, section 6, left open there)

    W(n) is the expected time in which the draft model and the cheap drafter generate n tokens; t is
    the draft model's time per step, in the same unit. Acceptance by the target does not change.

    inner: cost of the draft model's blocks with the cheap drafter; may itself be hierarchical.
    alpha: rate in [0, 1] at which the draft model accepts the cheap drafter's tokens.
    gamma: tokens that the cheap drafter drafts per inner block, at least 0.
    """
    rate, length = float(probability("alpha", alpha)), integer("gamma", gamma)
    step = cost.c * cost.step_seconds / inner.step_seconds
    return ChangedCost(cost, lambda n: step * Replay(np.full(n, rate)).seconds(length, inner))
