"""Acceptance rates by position, as servers print them: how often 1, 2, … tokens are accepted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance, Kind, Price
from simulator.numerics.arguments import integers, probability

# Where more of the positions were not drafted, rates are bounds from below.
CUT_SHORT = 0.01


@dataclass(frozen=True, slots=True)
class ByPosition(Acceptance):
    """Position i of a block has its own acceptance rate r_i, once all earlier ones are accepted.

        E[τ(γ)] = 1 + Σ_{i≤γ} r_1 … r_i

    Rates are taken to hold at every γ. Further positions have the last rate. Texts are long.

    conditional: r_1, …, r_γ, each in [0, 1], at least one.
    cut_short: share in [0, 1] of positions that the counted blocks did not draft, for example near
      the ends of texts. The rates count these positions as not accepted.
    """

    conditional: tuple[float, ...]
    cut_short: float = 0.0

    def __post_init__(self) -> None:
        rates = probability("acceptance_by_position", self.conditional)
        if rates.ndim != 1 or len(rates) == 0:
            raise ValueError(
                f"acceptance_by_position must have at least one rate, got shape {rates.shape}"
            )
        object.__setattr__(self, "conditional", tuple(rates.tolist()))

    @property
    def kind(self) -> Kind:
        return "by_position"

    @property
    def unconditional(self) -> tuple[float, ...]:
        """Share of all blocks that accept each position, shape (γ,)."""
        return tuple(np.cumprod(self.conditional).tolist())

    @property
    def tells_iid(self) -> bool:
        return not self.is_lower_bound

    @property
    def alpha(self) -> float:
        """The maximum-likelihood i.i.d. rate α: accepted / (accepted + rejected blocks)."""
        rates = self.unconditional
        accepted = sum(rates)
        return accepted / (accepted + 1 - rates[-1])

    @property
    def observed_gamma(self) -> int | None:
        return len(self.conditional)

    @property
    def is_lower_bound(self) -> bool:
        return self.cut_short > CUT_SHORT

    def per_token(self, price: Price, gamma: ArrayLike) -> NDArray[np.float64]:
        lengths = integers("gamma", gamma)
        return np.asarray(price(lengths) / self._tokens(lengths))[()]

    def _tokens(self, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        longest = int(lengths.max(initial=0))
        beyond = [self.conditional[-1]] * max(0, longest - len(self.conditional))
        stands = np.cumprod([1.0, *self.conditional, *beyond])
        return np.asarray(np.cumsum(stands)[lengths])
