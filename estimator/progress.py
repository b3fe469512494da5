"""What a long run tells whoever started it: how far it is, and what they should know."""

import warnings


class Progress:
    """What counts the steps of a run; this one tells nobody."""

    def expect(self, steps: int) -> None:
        """Adds to the steps to come; less than 0: so many are not needed."""

    def step(self, count: int = 1) -> None:
        """Counts steps."""

    def note(self, text: str) -> None:
        """Says in a few words what has been reached."""


SILENT = Progress()


class CountedProgress:
    """Counts steps as it passes them on."""

    def __init__(self, progress: Progress) -> None:
        self.steps = 0
        self._progress = progress

    def step(self) -> None:
        """Counts one."""
        self.steps += 1
        self._progress.step()


class Notice(UserWarning):
    """Something that was left out, cut or replaced; the command line prints it as a warning."""


def notice(message: str) -> None:
    """Tells a user something, by Python's own warnings."""
    warnings.warn(message, Notice, stacklevel=2)
