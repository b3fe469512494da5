"""A stopping rule: how sure a draft must be to go on, and what happens to the token that fails."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.arguments import probability

# The columns of recorded confidences: the largest probability, the same over the ten likeliest
# tokens, and the probability of the token itself.
Confidence = Literal["largest", "largest of ten", "own"]
COLUMNS: dict[Confidence, int] = {"largest": 0, "largest of ten": 1, "own": 2}


class StoppingRule(NamedTuple):
    """How an engine ends a draft that is no longer sure.

    Lossless if the judgement is of the law before the draw, or if the token that fails is kept. A
    rule that drops a drawn token because of the token's own probability changes the output.

    name: as users write it.
    confidence: the number that is compared with the threshold.
    keeps: whether the token that fails is verified. A dropped token's draft step is paid, too.
    builds: the builds that apply the rule.
    source: where to read it.
    product: whether the product of all confidences of the block is compared.
    option: the engine's own option; empty where it has none.
    calibrated: whether confidences are calibrated on other texts before they are compared.

    Example:
      >>> RULE.lengths(np.array([[0.9, 0.4, 0.9]]), 0.5)  # of a rule that drops
      (array([1]), array([2]))
    """

    name: str
    confidence: Confidence
    keeps: bool
    builds: str
    source: str
    product: bool = False
    option: str = ""
    calibrated: bool = False

    @property
    def column(self) -> int:
        """The column of recorded confidences that the rule reads."""
        return COLUMNS[self.confidence]

    def lengths(
        self, sure: NDArray[np.floating], threshold: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns how many tokens of each draft are verified, and how many steps are paid.

        Args:
          sure: confidences of the tokens of drafts, in [0, 1], shape (..., L).
          threshold: in [0, 1]; 0 never stops.

        Returns two arrays of shape (...), in 0..L.
        """
        least = float(probability("p_min", threshold))
        values = sure.cumprod(axis=-1) if self.product else sure
        # In the precision in which confidences were recorded, as engines compare.
        fails = values < values.dtype.type(least)
        longest = sure.shape[-1]
        first = np.where(fails.any(axis=-1), fails.argmax(axis=-1), longest)
        paid = np.minimum(first + 1, longest)
        return (paid if self.keeps else first), paid
