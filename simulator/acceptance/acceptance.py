"""Acceptance: how often drafts are accepted. A plan is made from an acceptance and a cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import expected_tokens
from simulator.cost.cost import Cost

Kind = Literal["iid", "by_position", "replay", "tree"]
# From drafted tokens of blocks, shape (...), to what each block costs.
Price = Callable[[NDArray[np.int64]], NDArray[np.float64]]
# Largest error of i.i.d. acceptance, in tokens per call, at which it may replace the measured one.
IID_TOLERANCE = 0.05


class Acceptance(ABC):
    """How often drafted tokens are accepted, for any γ.

    A subclass states what each emitted token costs. Here every second block is accepted whole:

        class AllOrNothing(Acceptance):
            kind, alpha, observed_gamma = "by_position", 0.5, None

            def per_token(self, price, gamma):
                return price(gamma) / (1 + gamma / 2)

        AllOrNothing().tokens_per_call(4)  # 3.0
    """

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """iid, by_position, replay or tree."""

    @property
    @abstractmethod
    def alpha(self) -> float:
        """The acceptance rate in [0, 1]; what is inferred from counts holds if i.i.d. does."""

    @property
    @abstractmethod
    def observed_gamma(self) -> int | None:
        """The largest γ that acceptances were observed at; None where a law says them all."""

    @property
    def most_gamma(self) -> int | None:
        """The largest γ that may be advised from these observations; None: no such limit."""
        return None

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Sentences that name counts which do not fit each other."""
        return ()

    @property
    def is_lower_bound(self) -> bool:
        """Whether blocks that were cut short hide some of it."""
        return False

    @property
    def tells_iid(self) -> bool:
        """Whether the observations show if positions are accepted equally often."""
        return self.kind in ("by_position", "replay") and not self.is_lower_bound

    def at_context(self, context: int) -> Acceptance:
        """Returns the acceptance with so many tokens in the cache; the same unless that is known.

        context: at least 0.
        """
        return self

    @abstractmethod
    def per_token(self, price: Price, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns the expected price of a text's blocks over its tokens.

        Args:
          price: cost of a block as a function of the tokens that it drafts. A block drafts fewer
            than γ near the end of a text or where the drafter proposes nothing.
          gamma: most tokens that a block drafts, at least 0, shape (...).
        """

    def tokens_per_call(self, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns emitted tokens over target calls: block efficiency, E[τ] for long texts."""
        return np.asarray(1 / self.per_token(_one, gamma))[()]

    @property
    def logit_covariance(self) -> NDArray[np.float64]:
        """Covariance of two errors of the rates: a shift of all logits, a slope by log position.

        Shape (2, 2); zero where nothing is in doubt.
        """
        return np.zeros((2, 2))

    def log_lengths(self, gamma: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the logarithms of tokens per block, and the covariance that their doubt has.

        Here the lengths are exact. An acceptance that rests on evidence overrides this.

        Args:
          gamma: drafted tokens per block, at least 1, shape (n,).

        Returns:
          means of shape (n,), and a covariance of shape (n, n), zero where nothing is in doubt.
        """
        lengths = np.atleast_1d(self.tokens_per_call(gamma))
        return np.log(lengths), np.zeros((len(lengths), len(lengths)))

    def drafted_per_token(self, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns drafted over emitted tokens."""
        return self.per_token(_length, gamma)

    def rejected(self, gamma: int) -> NDArray[np.float64]:
        """Returns the chance that a block ends by a rejection behind 0, …, γ - 1 accepted tokens.

        Position i is accepted with probability E[τ(i)] - E[τ(i - 1)], for blocks that begin where
        the blocks of each γ begin.

        Args:
          gamma: drafted tokens, at least 1.

        Returns shape (gamma,).
        """
        stands = np.diff(self.tokens_per_call(np.arange(gamma + 1)), prepend=0.0)
        return np.maximum(stands[:-1] - stands[1:], 0.0)

    def seconds_per_token(self, gamma: ArrayLike, cost: Cost) -> NDArray[np.float64]:
        """Returns the time of an emitted token, drafting and verification included."""
        return self.per_token(cost.block_seconds, gamma)


def iid_error(acceptance: Acceptance, *, max_gamma: int) -> tuple[float, int] | None:
    """Returns how far off tokens per call would be if acceptances were i.i.d., and at which γ.

    Args:
      acceptance: with an alpha that i.i.d. acceptances would have.
      max_gamma: the largest γ considered, at least 1; none beyond the observed ones is.

    Returns:
      the relative error of largest size, and its γ; None where observations do not show it.
    """
    if not acceptance.tells_iid:
        return None
    last = max_gamma if acceptance.observed_gamma is None else acceptance.observed_gamma
    gammas = np.arange(1, min(last, max_gamma) + 1)
    observed = acceptance.tokens_per_call(gammas)
    errors = expected_tokens(acceptance.alpha, gammas) / observed - 1
    worst = int(np.abs(errors).argmax())
    return float(errors[worst]), int(gammas[worst])


def _one(lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.ones(lengths.shape)


def _length(lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    return lengths.astype(np.float64)
