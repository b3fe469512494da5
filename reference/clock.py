"""Splits the time of a block into the drafter's passes, the target's passes and the rest."""

import time

from reference.drafter import Drafter
from reference.models.model import Model


class Clock:
    """A stopwatch for one block, which starts when it is made."""

    def __init__(self, drafter: Drafter | None, target: Model) -> None:
        """Starts the clock. Without a drafter the drafting time is 0."""
        self._drafter = drafter
        self._target = target
        self._began = time.perf_counter()
        self._before = self._passes()

    def _passes(self) -> tuple[float, float]:
        drafting = 0.0 if self._drafter is None else self._drafter.forward_seconds
        return drafting, self._target.forward_seconds

    def seconds(self) -> tuple[float, float, float]:
        """Returns seconds in the drafter's passes, in the target's passes, and elsewhere."""
        draft, verify = (now - then for now, then in zip(self._passes(), self._before, strict=True))
        return draft, verify, time.perf_counter() - self._began - draft - verify
