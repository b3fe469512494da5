"""Progress on stderr: a bar where that is a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import click

# Between two lines of a job whose stderr is no terminal.
LINE_SECONDS = 30.0


class Bar:
    """An `estimator.progress.Progress` that a user sees."""

    def __init__(self, what: str, unit: str, *, leave: bool = True) -> None:
        """Begins with no steps to come.

        Args:
          what: is done.
          unit: what a step is.
          leave: whether it stays when done.
        """
        from tqdm import tqdm

        self._draws = sys.stderr.isatty()
        self._bar: Any = tqdm(
            total=0, desc=what, unit=unit, leave=leave, disable=not self._draws
        )
        self._words, self._done = (what, unit), 0
        self._began = self._told = time.monotonic()

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()

    def expect(self, steps: int) -> None:
        """Adds to the steps to come."""
        self._bar.total += steps
        self._bar.refresh()

    def step(self, count: int = 1) -> None:
        """Counts steps."""
        self._bar.update(count)
        self._done += count
        now = time.monotonic()
        if not self._draws and now - self._told >= LINE_SECONDS:
            self._told = now
            what, unit = self._words
            click.echo(
                f"{what}: {self._done} of {self._bar.total} {unit}s, {now - self._began:.0f} s",
                err=True,
            )

    def note(self, text: str) -> None:
        """Says in a few words what has been reached."""
        self._bar.set_postfix_str(text)

    def print(self, text: str) -> None:
        """Prints to stdout, with the bar out of the way."""
        with self._bar.external_write_mode():
            click.echo(text)
