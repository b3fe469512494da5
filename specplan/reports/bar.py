"""A progress bar on stderr, where that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

import click


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

        self._bar: Any = tqdm(
            total=0, desc=what, unit=unit, leave=leave, disable=not sys.stderr.isatty()
        )

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

    def note(self, text: str) -> None:
        """Says in a few words what has been reached."""
        self._bar.set_postfix_str(text)

    def print(self, text: str) -> None:
        """Prints to stdout, with the bar out of the way."""
        with self._bar.external_write_mode():
            click.echo(text)
