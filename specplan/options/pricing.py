"""One set of costs to plan with, wherever it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.cost.cost import Cost


@dataclass(frozen=True, slots=True)
class Pricing:
    """Costs, and what belongs to them.

    cost: of blocks of one pass over the batch.
    c_hat: the ratio in operations where the source of the costs knows it.
    batch: sequences decoded together.
    """

    cost: Cost
    c_hat: float | None = None
    batch: int = 1
