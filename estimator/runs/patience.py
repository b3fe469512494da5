"""What runs ask of whoever says when they have been timed long enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from estimator.runs.arms import Runs

# Of fewer there is no interval.
LEAST_PROMPTS = 2


class Patience(Protocol):
    """Says when runs have been timed long enough."""

    def late(self) -> bool:
        """Returns whether the time is up."""

    def precise(self, runs: Runs) -> bool:
        """Returns whether the runs so far, of all prompts, say enough."""


class Endless:
    """Lets all repeats of all prompts run."""

    def late(self) -> bool:
        """Returns False."""
        return False

    def precise(self, runs: Runs) -> bool:
        """Returns False."""
        return False


ENDLESS = Endless()
