"""The uncertain parameters of a deployment's times: factors and times, each above 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Factors multiply seconds that the roofline knows; the others are seconds themselves.
PARAMETERS = (
    "roof",  # time of reading and multiplying over that at the roofs: 1 / efficiency
    "layer",  # seconds a layer of any pass that do not shrink with the work
    "experts",  # further experts that several tokens read, over the number of uniform routing
    "arithmetic",  # time of arithmetic of all tokens but the first, over its time at the peak rate
    "plain",  # seconds a step without speculation, in addition to the target's pass
    "block",  # seconds a block, in addition to the passes of both models
    "draft",  # seconds a pass of the draft, in addition to its roofline
    "sequence",  # seconds a sequence and token that the target passes over
    "prompt",  # time of other requests' prompts while decoding, over its time at the peak rate
    "cache",  # reading the cached tokens, over that at the roofs
    "recache",  # the same for every further token of a sequence
)
COUNT = len(PARAMETERS)


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a step. Its seconds are linear in the amounts:

        seconds = Σ_i amounts_i · exp(θ_i) + fixed

    amounts: amount of each of PARAMETERS, at least 0, shape (COUNT,).
    fixed: seconds that no parameter scales (all-reduces).
    """

    amounts: NDArray[np.float64]
    fixed: float = 0.0

    def seconds(self, logs: NDArray[np.float64]) -> float:
        """Returns the step's time; logs: natural logarithms θ of the parameters, shape (COUNT,)."""
        return float(self.amounts @ np.exp(logs)) + self.fixed

    def plus(self, other: Work, share: float) -> Work:
        """Returns the sum of this work and a share of another work."""
        return Work(self.amounts + share * other.amounts, self.fixed + share * other.fixed)


def work(*, fixed: float = 0.0, **amounts: float) -> Work:
    """Returns a work from amounts by parameter name; other amounts are 0.

    Raises:
      ValueError: if a name is not in PARAMETERS.
    """
    vector = np.zeros(COUNT)
    for name, amount in amounts.items():
        if name not in PARAMETERS:
            raise ValueError(f"parameter must be one of {', '.join(PARAMETERS)}, got {name}")
        vector[PARAMETERS.index(name)] = amount
    return Work(vector, fixed)
