"""Progress and notices of a long run, for its caller."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Progress:
    """Receives the steps of a run; this base class ignores them."""

    def expect(self, steps: int) -> None:
        """Adds to the number of expected steps; a negative number removes steps."""

    def step(self, count: int = 1) -> None:
        """Reports that `count` steps have finished."""

    def note(self, text: str) -> None:
        """Reports a result in a few words."""


SILENT = Progress()
_STAGES = [""]


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Context of work that may last; the command line prints `text` if it does, unless empty."""
    _STAGES.append(text)
    try:
        yield
    finally:
        _STAGES.pop()


def current_stage() -> str:
    """Returns the text of the innermost `stage`; "" outside of any."""
    return _STAGES[-1]


@contextmanager
def counted(progress: Progress, planned: int) -> Iterator[Callable[[], None]]:
    """Yields the function to call after each step; at the end, removes steps that were not needed.

    planned: number of steps that the caller has added for the work in this context.
    """
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        progress.step()

    yield step
    progress.expect(steps - planned)


class Notice(UserWarning):
    """A warning that input was left out, cut or replaced; the command line prints it."""


class Remark(Notice):
    """A notice of a choice that was made for the user, and that needs no care."""


Listener = Callable[[str, type[Notice]], object]
_listeners: list[Listener] = []


@contextmanager
def heard(listener: Listener) -> Iterator[None]:
    """Calls `listener` with each notice of this context, in place of Python's warnings."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def notice(message: str, category: type[Notice] = Notice) -> None:
    """Notifies the innermost listener (`heard`); without one, through Python's own warnings."""
    if _listeners:
        _listeners[-1](message, category)
    else:
        warnings.warn(message, category, stacklevel=2)
