"""Costs of one server at several loads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from simulator.cost.cost import Cost
from simulator.cost.fitted.runs import Run


class Costs(ABC):
    """Costs of one server, which differ by batch size and context.

    A plan has a row for each of `planned`; `at` gives the cost at any load. Example: a step takes
    10 ms, and 0.1 ms more for each sequence.

      >>> from simulator.cost.times import Times
      >>> class Rising(Costs):
      ...     def planned(self, max_gamma): return self.at(1), self.at(64)
      ...     def at(self, batch, context=None, *, max_gamma=32):
      ...         return Times(10 + 0.1 * batch, 1).with_setting(batch=batch)
      >>> [cost.setting.batch for cost in Rising().planned(8)]
      [1, 64]
    """

    # Measurements of the server that the costs follow.
    runs: tuple[Run, ...] = ()

    @property
    def server(self) -> str | None:
        """Name of the engine whose costs these are; None: not known."""
        return None

    @property
    def fitted(self) -> bool:
        """Whether runs can correct the costs (`with_runs`)."""
        return False

    @property
    def modelled(self) -> bool:
        """Whether a model of the machine gives the costs; false if they were measured."""
        return False

    @property
    def several(self) -> bool:
        """Whether the user stated a list of loads: plans are then a table, even of one row."""
        return False

    @property
    def batches(self) -> tuple[int, ...] | None:
        """The batch sizes to plan for; None: not stated."""
        return None

    @property
    def contexts(self) -> tuple[int, ...] | None:
        """The contexts to plan for; None: not stated."""
        return None

    @abstractmethod
    def planned(self, max_gamma: int) -> tuple[Cost, ...]:
        """Returns a cost for each load to plan for; max_gamma: the longest draft with a cost."""

    @abstractmethod
    def at(self, batch: int, context: int | None = None, *, max_gamma: int = 32) -> Cost:
        """Returns the cost at one load; context: tokens in each cache; None: as stated, or 1024."""

    def under_load(self, slots: int, context: int, *, max_gamma: int) -> tuple[Cost, ...]:
        """Returns costs by batch size for a server that decodes up to `slots` sequences together.

        context: mean number of tokens in each cache, unless the costs state their own.
        """
        return self.planned(max_gamma)

    def with_runs(self, runs: Sequence[Run]) -> Self:
        """Returns these costs with other measurements; only costs that have `runs` can."""
        raise ValueError(f"`runs` cannot be given with {type(self).__name__}")

    def with_batches(self, batches: Sequence[int]) -> Self:
        """Returns these costs with other batch sizes to plan for."""
        raise ValueError(f"`batch` cannot be given with {type(self).__name__}")


@dataclass(frozen=True)
class StatedCosts(Costs):
    """Costs that were stated one by one: a plan has a row for each.

    several: whether a list was stated, even of one cost.
    """

    costs: tuple[Cost, ...]
    several: bool = False

    def planned(self, max_gamma: int) -> tuple[Cost, ...]:
        return self.costs

    def at(self, batch: int, context: int | None = None, *, max_gamma: int = 32) -> Cost:
        of_batch = [cost for cost in self.costs if cost.setting.batch == batch]
        if not of_batch:
            raise ValueError(f"batch must be one that a cost was stated for, got {batch}")
        return of_batch[0]
