"""Acceptance that changes with the context, as accepted lengths of runs at several tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.from_lengths import FromLengths, LengthLaw, fitted, length_law
from simulator.numerics.arguments import integer


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
