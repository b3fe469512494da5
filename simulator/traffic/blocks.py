"""Tokens per block and blocks per output, for requests with different acceptance rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance
from simulator.numerics.arguments import Floats, integer

# Kinds of request, equally frequent, that stand for a beta distribution of α.
KINDS = 8
_LEAST = 1e-9
# Tokens up to which blocks are counted exactly.
_SHORT = 12
# Number of grid points of the logit of α, and the grid's half-width in units of its scale.
_GRID, _TAIL = 20_001, 30.0
# Number of requests that are drawn at a time, so that arrays stay small.
_PART = 50_000


@dataclass(frozen=True, slots=True)
class Blocks:
    """Acceptance of drafted tokens in several equally frequent kinds of request, which differ in α.

    accepted: probability that the first i drafted tokens are accepted, i = 0, 1, …, shape (kinds,
      longest + 1), or (draws, kinds, longest + 1) if it is uncertain.
    """

    accepted: Floats

    @classmethod
    def of(cls, acceptance: Acceptance, longest: int, *, spread: float = 0.0) -> Blocks:
        """Returns the blocks of an acceptance: a share E[τ(i)] - E[τ(i-1)] of them accepts token i.

        longest: the largest γ, at least 1.
        spread: standard deviation of α between requests. If it is above 0, α has a beta
          distribution, and the logits of all positions shift with the logit of α.
        """
        gammas = np.arange(1, integer("longest", longest, at_least=1) + 1)
        tokens = np.concatenate([[1.0], acceptance.tokens_per_call(gammas)])
        added = np.clip(np.diff(tokens), 0.0, 1.0)
        alike = cls(np.concatenate([[1.0], np.minimum.accumulate(added)])[None, :])
        if spread == 0:
            return alike
        logits = _beta_logits(acceptance.alpha, spread)
        return alike.moved((logits - _logit(acceptance.alpha))[:, None])

    def moved(self, logit: ArrayLike, change: ArrayLike = 0.0) -> Blocks:
        """Returns blocks with the logit of position i's rate shifted by `logit` + `change` · log i.

        Both arguments broadcast with the rates, shape (kinds of requests, longest γ).
        """
        rates = self.accepted[..., 1:] / np.maximum(self.accepted[..., :-1], _LEAST)
        positions = np.log(np.arange(1, self.accepted.shape[-1]))
        logits = _logit(rates) + np.asarray(logit) + np.asarray(change) * positions
        accepted = np.cumprod(1 / (1 + np.exp(-logits)), axis=-1)
        return Blocks(np.concatenate([np.ones((*accepted.shape[:-1], 1)), accepted], axis=-1))

    @property
    def kinds(self) -> int:
        """Number of kinds of requests."""
        return int(self.accepted.shape[-2])

    @property
    def tokens(self) -> Floats:
        """Mean tokens per block E[τ] by kind and γ, shape (kinds, longest + 1)."""
        return np.cumsum(self.accepted, axis=-1)

    def needed(self, tokens: float) -> Floats:
        """Returns the expected number of blocks that emit `tokens` tokens, by kind and γ.

        Integer steps overshoot by (E[τ²]/E[τ] - 1)/2 tokens on average (Cox 1962, §3.1). Short
        outputs take the exact sum, m(n) = 1 + Σ_j P(τ = j) m(n - j).
        """
        if tokens <= 0:
            return np.zeros(self.accepted.shape)
        if tokens <= _SHORT:
            low, exact = int(tokens), self._exactly(ceil(tokens))
            return np.asarray(exact[low] + (tokens - low) * (exact[-1] - exact[low]))
        overshoot = (self._squares / self.tokens - 1) / 2
        return np.asarray(np.maximum((tokens + overshoot) / self.tokens, 1.0))

    def _exactly(self, most: int) -> Floats:
        """Returns the expected number of blocks for 0, …, `most` tokens as a first axis."""
        needed = np.zeros((most + 1, *self.accepted.shape))
        gammas = np.arange(self.accepted.shape[-1])
        beyond = np.append(self.accepted[..., 1:], 0 * self.accepted[..., :1], axis=-1)
        for tokens in range(1, most + 1):
            needed[tokens] = 1.0
            for size in range(1, min(tokens, len(gammas) + 1)):
                # A block emits `size` tokens with this probability, by γ.
                accepted, ended = self.accepted[..., size - 1, None], beyond[..., size - 1, None]
                emits = np.where(gammas >= size, accepted - ended, accepted * (gammas == size - 1))
                needed[tokens] += emits * needed[tokens - size]
        return needed

    def variation(self, tokens: float, spread: float) -> Floats:
        """Returns the squared coefficient of variation of the number of blocks per output, by γ.

        tokens, spread: mean length of an output, and its standard deviation over the mean.
        """
        if tokens <= 0:
            return np.zeros_like(self.accepted[..., 0, :])
        needed, mean = self.needed(tokens), self.tokens
        within = (self._squares / mean**2 - 1) * mean / tokens
        second = ((1 + within) * needed**2).mean(axis=-2) / needed.mean(axis=-2) ** 2
        return np.asarray(second * (1 + spread**2) - 1)

    @property
    def _squares(self) -> Floats:
        """Mean square E[τ²] of the tokens that a block emits, by kind and γ."""
        odd = 2 * np.arange(self.accepted.shape[-1]) + 1
        return np.asarray(np.cumsum(odd * self.accepted, axis=-1))

    def drawn(
        self,
        tokens: NDArray[np.int64],
        kinds: NDArray[np.int64],
        gammas: Iterable[int],
        generator: np.random.Generator,
    ) -> dict[int, Floats]:
        """Returns, for each γ, how many blocks each request's output takes, drawn at random.

        tokens: tokens to emit; kinds: index of the request's kind. All shapes: (requests,).
        """
        tokens_by_gamma = {gamma: tokens.astype(np.float64) for gamma in gammas}
        for gamma, needed in tokens_by_gamma.items():
            for start in range(0, len(tokens) if gamma > 0 else 0, _PART):
                part = slice(start, start + _PART)
                survival = self.accepted[kinds[part], : gamma + 1]
                needed[part] = _counted(tokens[part], survival, generator)
        return tokens_by_gamma


def _counted(
    tokens: NDArray[np.int64], survival: Floats, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Returns how many blocks each output takes, drawn at random, shape (requests,).

    In each round, an unfinished output takes as many blocks as fit even if each emits γ + 1 tokens,
    but at least one. A binomial number of them accepts the first drafted token, a binomial number
    of these the second, and so on.

    survival: probability that the first i drafted tokens are accepted, shape (requests, γ + 1).
    """
    left, count = tokens.copy(), np.zeros(len(tokens), dtype=np.int64)
    rates = survival[:, 1:] / np.maximum(survival[:, :-1], 1e-300)
    places = np.flatnonzero(left > 0)
    while len(places) > 0:
        accepted = np.maximum(left[places] // survival.shape[1], 1)
        count[places] += accepted
        left[places] -= accepted
        for rate in rates[places].T:
            accepted = generator.binomial(accepted, rate)
            left[places] -= accepted
        places = places[left[places] > 0]
    return count


def _beta_logits(mean: float, spread: float) -> Floats:
    """Returns the logits of the medians of KINDS equally likely parts of a beta distribution."""
    # Summed over a fine grid, because scipy's inverse takes longer to import than a whole answer.
    most = np.sqrt(mean * (1 - mean))
    if not 0 <= spread < most:
        raise ValueError(
            f"alpha-spread must lie in [0, {most:.3g}) at alpha {mean:g}, got {spread:g}"
        )
    total = mean * (1 - mean) / spread**2 - 1
    ends = _TAIL / (total * np.array([mean, 1 - mean])) + _TAIL / np.sqrt(total) / most
    logits = float(_logit(mean)) + np.linspace(-ends[0], ends[1], _GRID)
    logs = total * (mean * logits - np.logaddexp(0, logits))
    density = np.exp(logs - logs.max())
    below = np.cumsum(density) - density / 2
    shares = (np.arange(KINDS) + 0.5) / KINDS
    return np.asarray(np.interp(shares * density.sum(), below, logits))


def _logit(rates: ArrayLike) -> Floats:
    bounded = np.clip(rates, _LEAST, 1 - _LEAST)
    return np.asarray(np.log(bounded / (1 - bounded)))
