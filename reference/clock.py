"""Where the time of a block goes: the drafter's passes, the target's, all else."""

import time

from reference.drafter import Drafter
from reference.models.model import Model


class Clock:
    """Runs from when it is made."""

    def __init__(self, drafter: Drafter | None, target: Model) -> None:
        """Starts; without a drafter no time is its own."""
        self._drafter = drafter
        self._target = target
        self._began = time.perf_counter()
        self._before = self._passes()

    def _passes(self) -> tuple[float, float]:
        drafting = 0.0 if self._drafter is None else self._drafter.forward_seconds
        return drafting, self._target.forward_seconds

    def seconds(self) -> tuple[float, float, float]:
        """Returns the seconds inside the drafter's and the target's passes, and all others."""
        draft, verify = (now - then for now, then in zip(self._passes(), self._before, strict=True))
        return draft, verify, time.perf_counter() - self._began - draft - verify
