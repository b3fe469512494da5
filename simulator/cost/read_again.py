"""Blocks after whose rejection the target reads what stands once more (`docs/hybrids.md`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.altered import Altered
from simulator.numerics.arguments import integers


@dataclass(frozen=True, slots=True)
class ReadAgain(Altered):
    """The cost of a target whose recurrent layers are brought back to where a block began.

        t(γ) = t_0(γ) + Σ_{a<γ} P(rejected behind a accepted tokens) · t_p(a + 1)

    alone: prices blocks of a target that is cut back at no cost, t_0, and its passes, t_p.
    rejected: from γ to the chance that a block ends with a rejection behind 0, …, γ - 1 accepted
      tokens, shape (γ,).
    """

    rejected: Callable[[int], NDArray[np.float64]]

    def checking_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        lengths = integers("gamma", gamma)
        again = np.zeros(lengths.shape)
        for length in np.unique(lengths[lengths > 0]).tolist():
            # What a block takes beside its pass is in all of them, and so in no difference.
            passes = self.alone.checking_seconds(np.arange(length)) + (
                self.alone.step_seconds - self.alone.checking_seconds(0)
            )
            again[lengths == length] = self.rejected(length) @ passes
        return np.asarray(self.alone.checking_seconds(lengths) + again)[()]
