"""What an engine adds to the roofline: a few positive factors and times, each of them in doubt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Factors multiply seconds that the roofline knows; the others are seconds themselves.
PARAMETERS = (
    "roof",  # time of reading and multiplying over that at the roofs: 1 / efficiency
    "layer",  # seconds a layer of any pass that do not shrink with the work
    "experts",  # further experts that several tokens read, over those of uniform routing
    "arithmetic",  # arithmetic of all tokens but the first, over that at the peak rate
    "plain",  # seconds a step without speculation, beside the target
    "block",  # seconds a block, beside both models
    "draft",  # seconds a pass of the draft, beside its roofline
    "sequence",  # seconds a sequence and token that the target passes over
    "prompt",  # arithmetic of others' prompts while decoding, over that at the peak rate
    "cache",  # reading the cached tokens, over that at the roofs
    "recache",  # the same for every further token of a sequence
)
COUNT = len(PARAMETERS)


@dataclass(frozen=True, slots=True)
class Work:
    """What a step asks of a deployment: seconds are linear in the parameters.

        seconds = Σ_i amounts_i · exp(θ_i) + fixed

    amounts: of each of PARAMETERS, at least 0, shape (COUNT,).
    fixed: seconds that no parameter scales (all-reduces).
    """

    amounts: NDArray[np.float64]
    fixed: float = 0.0

    def seconds(self, logs: NDArray[np.float64]) -> float:
        """Returns the time of the step; logs: θ, natural logarithms, shape (COUNT,)."""
        return float(self.amounts @ np.exp(logs)) + self.fixed

    def plus(self, other: Work, share: float) -> Work:
        """Returns this work and a share of another one together."""
        return Work(self.amounts + share * other.amounts, self.fixed + share * other.fixed)


def work(*, fixed: float = 0.0, **amounts: float) -> Work:
    """Returns a work by the names of its parameters; those that are not named are 0.

    Raises:
      ValueError: if a name is none of PARAMETERS.
    """
    vector = np.zeros(COUNT)
    for name, amount in amounts.items():
        if name not in PARAMETERS:
            raise ValueError(f"parameter must be one of {', '.join(PARAMETERS)}, got {name}")
        vector[PARAMETERS.index(name)] = amount
    return Work(vector, fixed)
