"""Acceptance recorded along texts: replay (`replay.py`) as an acceptance to plan with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance, Kind, Price
from simulator.acceptance.by_position import ByPosition
from simulator.numerics.arguments import integer, integers, non_negative, probability

# What rounding may add to the blocks of a text in which no draft stands: 1 for each token.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Recorded(Acceptance):
    """What replaying recorded texts says of each γ up to the largest replayed.

    rate: α, the mean of β along the texts, in [0, 1].
    blocks: by γ = 1, 2, …, the expected number of blocks that draft 0, …, γ tokens for each token
      of the texts (`replay.block_lengths`, summed over texts), shape (γ + 1,).
    """

    rate: float
    blocks: Mapping[int, tuple[float, ...]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", float(probability("alpha", self.rate)))
        counts = {integer("gamma", gamma, at_least=1): row for gamma, row in self.blocks.items()}
        if sorted(counts) != list(range(1, len(counts) + 1)) or not counts:
            raise ValueError(f"blocks must have every gamma from 1 on, got {sorted(counts)}")
        for gamma, row in counts.items():
            values = non_negative(f"blocks[{gamma}]", row)
            if values.shape != (gamma + 1,) or not 0 < values.sum() <= 1 + _ROUNDING:
                raise ValueError(
                    f"blocks[{gamma}] must have {gamma + 1} numbers whose sum lies in (0, 1], "
                    f"got {len(row)} of sum {values.sum():g}"
                )
        object.__setattr__(self, "blocks", dict(sorted(counts.items())))

    @property
    def kind(self) -> Kind:
        return "replay"

    @property
    def alpha(self) -> float:
        return self.rate

    @property
    def observed_gamma(self) -> int | None:
        return len(self.blocks)

    def per_token(self, price: Price, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns the expected price of blocks for each token; beyond the replayed γ, extrapolated.

        There the gain of the last positions goes on at the rate of the last two, texts long.
        """
        lengths = integers("gamma", gamma)
        total = np.empty(lengths.shape)
        for index, value in np.ndenumerate(lengths):
            if value == 0:
                total[index] = price(np.zeros(1, dtype=np.int64))[0]
            elif value in self.blocks:
                row = np.array(self.blocks[int(value)])
                total[index] = row @ price(np.arange(len(row)))
            else:
                total[index] = self._beyond().per_token(price, value)
        return total[()]

    def _beyond(self) -> ByPosition:
        """Returns the rates by position that give the same tokens per call at each replayed γ."""
        tokens = np.array([1.0, *(1 / sum(row) for row in self.blocks.values())])
        stands = np.minimum.accumulate(np.clip(np.diff(tokens), 0.0, 1.0))
        return ByPosition.of_unconditional(stands)
