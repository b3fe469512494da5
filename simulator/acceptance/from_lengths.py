"""Acceptance from the accepted lengths of runs at several γ, with its doubt at every other γ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.by_position import ByPosition
from simulator.numerics.arguments import integer, integers

# Of the logit of a first position's rate, and of its change with the logarithm of the position:
# mean and standard deviation over the published sweeps (docs/roofline.md).
_FIRST, _CHANGE = (1.3, 0.8), (-0.3, 0.25)
# Of the change of all logits with something else, such as the logarithm of the context.
_ELSE = (0.0, 0.3)
# Positions whose rates are told apart; further ones have the last one's.
LONGEST = 64
# Of a run's length about the law, in logarithms.
_ERROR = 0.01


@dataclass(frozen=True, slots=True)
class LengthLaw:
    """Rates that rise or fall with the position, by a logistic law.

        logit r_i = a + b · log i,        E[τ(γ)] = 1 + Σ_{i≤γ} r_1 … r_i

    coefficients: a and b.
    covariance: of them, shape (2, 2).
    observed: the largest γ of a run.
    """

    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]
    observed: int

    def rates(self, longest: int) -> NDArray[np.float64]:
        """Returns r_1, …, each given that all before it stand; shape (longest,)."""
        return _rates(self.coefficients, longest)

    def acceptance(self) -> FromLengths:
        """Returns the acceptance of the most probable rates."""
        return FromLengths(tuple(self.rates(LONGEST).tolist()), law=self)

    def log_lengths(self, gamma: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the mean of the logarithms of lengths, shape (n,), and their covariance.

        Args:
          gamma: at least 1, shape (n,).
        """
        lengths = np.atleast_1d(integers("gamma", gamma, at_least=1))
        slopes = _slopes(self.coefficients, lengths)
        return (
            np.log(_tokens(self.coefficients, lengths)),
            slopes @ self.covariance @ slopes.T,
        )


@dataclass(frozen=True, slots=True)
class FromLengths(ByPosition):
    """Rates by position as accepted lengths imply them."""

    law: LengthLaw = field(kw_only=True)

    @property
    def observed_gamma(self) -> int | None:
        return self.law.observed

    def log_lengths(self, gamma: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.law.log_lengths(gamma)


def length_law(lengths: Mapping[int, float]) -> LengthLaw:
    """Returns the law of accepted lengths that runs have shown.

    Args:
      lengths: tokens a block, in [1, γ + 1], by γ; at least one.

    Raises:
      ValueError: if there is none, or one is out of range.
    """
    runs = sorted(lengths.items())
    found, covariance = fitted(runs, np.zeros(len(runs)))
    return LengthLaw(found[:2], covariance[:2, :2], runs[-1][0])


def fitted(
    runs: Sequence[tuple[int, float]], away: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns a, b and the change of logits with something else, and their covariance.

    Args:
      runs: γ and tokens a block, in [1, γ + 1]; at least one.
      away: what else they differ in, about its mean, shape (n,).

    Raises:
      ValueError: if there is none, or one is out of range.
    """
    from scipy.optimize import least_squares

    if not runs:
        raise ValueError("lengths must have at least one run's, got none")
    for gamma, length in runs:
        if not 1 <= length <= integer("gamma", gamma, at_least=1) + 1:
            raise ValueError(
                f"length must lie in [1, {gamma + 1}] at gamma {gamma}, got {length:g}"
            )
    gammas, measured = np.array([gamma for gamma, _ in runs]), np.log([each for _, each in runs])
    means, deviations = np.array([_FIRST, _CHANGE, _ELSE]).T
    places = [(slice(index, index + 1), shift) for index, shift in enumerate(away.tolist())]

    def own(law: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
        return np.array([law[0] + law[2] * shift, law[1]])

    def residuals(law: NDArray[np.float64]) -> NDArray[np.float64]:
        tokens = np.concatenate([_tokens(own(law, shift), gammas[at]) for at, shift in places])
        return np.concatenate([(law - means) / deviations, (np.log(tokens) - measured) / _ERROR])

    found = np.asarray(least_squares(residuals, means).x)
    by_law = np.vstack([_slopes(own(found, shift), gammas[at]) for at, shift in places])
    by_law = np.hstack([by_law, by_law[:, :1] * away[:, None]])
    slopes = np.vstack([np.diag(1 / deviations), by_law / _ERROR])
    return found, np.linalg.inv(slopes.T @ slopes)


def _rates(law: NDArray[np.float64], longest: int) -> NDArray[np.float64]:
    positions = np.arange(1, longest + 1)
    # Bounded: no measured length tells a rate within 1e-13 of 0 or 1.
    return np.asarray(1 / (1 + np.exp(-np.clip(law[0] + law[1] * np.log(positions), -30, 30))))


def _tokens(law: NDArray[np.float64], gammas: NDArray[np.int64]) -> NDArray[np.float64]:
    stands = np.cumprod(_rates(law, int(gammas.max())))
    return np.asarray(1 + np.cumsum(stands)[gammas - 1])


def _slopes(law: NDArray[np.float64], gammas: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns derivatives of the logarithms of lengths by both coefficients, shape (n, 2)."""
    longest = int(gammas.max())
    rates = _rates(law, longest)
    stands = np.cumprod(rates)
    positions = np.log(np.arange(1, longest + 1))
    # The derivative of log r_i by its logit is 1 - r_i.
    of_first = np.cumsum(stands * np.cumsum(1 - rates))
    of_change = np.cumsum(stands * np.cumsum((1 - rates) * positions))
    tokens = 1 + np.cumsum(stands)
    return np.asarray(np.stack([of_first / tokens, of_change / tokens], axis=1)[gammas - 1])


@dataclass(frozen=True, slots=True)
class ContextLaw:
    """Rates whose logits change with the logarithm of the context, all alike.

        logit r_i = a + b · log i + d · (log L - log L_0)

    coefficients: a, b and d.
    covariance: of them, shape (3, 3).
    origin: log L_0, the mean over the runs.
    observed: the largest γ of a run.
    """

    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]
    origin: float
    observed: int

    def at(self, context: int) -> LengthLaw:
        """Returns the law at a context; one of none is taken for a token."""
        away = np.log(max(integer("context", context), 1)) - self.origin
        slopes = np.array([[1.0, 0.0, away], [0.0, 1.0, 0.0]])
        return LengthLaw(
            slopes @ self.coefficients, slopes @ self.covariance @ slopes.T, self.observed
        )


@dataclass(frozen=True, slots=True)
class FromContexts(FromLengths):
    """Rates by position at one of several contexts, and what they are at the others."""

    contexts: ContextLaw = field(kw_only=True)

    def at_context(self, context: int) -> FromContexts:
        law = self.contexts.at(context)
        return FromContexts(law.acceptance().conditional, law=law, contexts=self.contexts)


def acceptance_of_lengths(lengths: Mapping[tuple[int, int], float]) -> FromLengths:
    """Returns the acceptance of accepted lengths, with its change by context where several tell it.

    Args:
      lengths: tokens a block, in [1, γ + 1], by context and γ; at least one.

    Raises:
      ValueError: if there is none, or one is out of range.
    """
    contexts = sorted({context for context, _ in lengths})
    if len(contexts) < 2:
        return length_law({gamma: length for (_, gamma), length in lengths.items()}).acceptance()
    places = np.log([max(context, 1) for context, _ in lengths])
    origin = float(places.mean())
    by_gamma = [(gamma, length) for (_, gamma), length in lengths.items()]
    coefficients, covariance = fitted(by_gamma, places - origin)
    law = ContextLaw(coefficients, covariance, origin, max(gamma for gamma, _ in by_gamma))
    return FromContexts(
        law.at(contexts[0]).acceptance().conditional, law=law.at(contexts[0]), contexts=law
    )
