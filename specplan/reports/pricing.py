"""One set of costs to plan with, wherever it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.cost.cost import Cost


@dataclass(frozen=True, slots=True)
class Load:
    """The load and the machine that costs of a batch are of.

    gpu, dtype, tp: as the user named them; dtype None: each configuration's own.
    draft_kind: what the draft's configuration was taken for.
    context: tokens in each sequence's cache.
    needed_gb: weights and caches of both models on each GPU; None: not known.
    fits: whether its memory suffices.
    measured: whether the costs are a profile's; a roofline's else.
    draft_overhead: the share of a draft step that its layers take whatever they compute; None:
      not known.
    """

    gpu: str
    dtype: str | None
    tp: int
    draft_kind: str
    context: int
    needed_gb: float | None
    fits: bool
    measured: bool = False
    draft_overhead: float | None = None


@dataclass(frozen=True, slots=True)
class Pricing:
    """Costs, and what belongs to them.

    cost: of blocks of one pass over the batch.
    c_hat: the ratio in operations where the source of the costs knows it.
    batch: sequences decoded together.
    load: of costs of a roofline, or of a profile's batches; None for others.
    max_gamma: tokens that the draft can draft at most; None: any number.
    """

    cost: Cost
    c_hat: float | None = None
    batch: int = 1
    load: Load | None = None
    max_gamma: int | None = None
