"""Independent, identically distributed acceptances: Eq. 1 of Leviathan et al. 2023."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance, Kind, Price
from simulator.acceptance.tokens import expected_tokens
from simulator.numerics.arguments import integers, probability


@dataclass(frozen=True, slots=True)
class Iid(Acceptance):
    """Each drafted token is accepted with probability α (Leviathan et al. 2023, §3.1).

    rate: α in [0, 1].
    counted_at: the largest γ of the counted drafts; None if α was not counted.
    """

    rate: float
    counted_at: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", float(probability("alpha", self.rate)))

    @property
    def kind(self) -> Kind:
        return "iid"

    @property
    def alpha(self) -> float:
        return self.rate

    @property
    def observed_gamma(self) -> int | None:
        return self.counted_at

    def per_token(self, price: Price, gamma: ArrayLike) -> NDArray[np.float64]:
        lengths = integers("gamma", gamma)
        return np.asarray(price(lengths) / expected_tokens(self.rate, lengths))[()]
