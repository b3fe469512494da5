"""Progress and notices of a long run, for its caller."""

import warnings


class Progress:
    """Receives the steps of a run; this base class ignores them."""

    def expect(self, steps: int) -> None:
        """Adds to the number of expected steps; a negative number removes steps."""

    def step(self, count: int = 1) -> None:
        """Reports that `count` steps have finished."""

    def note(self, text: str) -> None:
        """Reports a result in a few words."""


SILENT = Progress()


class CountedProgress:
    """Counts the steps of a run and reports each step to another Progress."""

    def __init__(self, progress: Progress) -> None:
        self.steps = 0
        self._progress = progress

    def step(self) -> None:
        self.steps += 1
        self._progress.step()


class Notice(UserWarning):
    """A warning that input was left out, cut or replaced; the command line prints it."""


class Remark(Notice):
    """A notice of a choice that was made for the user, and that needs no care."""


def notice(message: str, category: type[Notice] = Notice) -> None:
    """Notifies the user through Python's own warnings."""
    warnings.warn(message, category, stacklevel=2)
