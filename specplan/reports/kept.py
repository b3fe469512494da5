"""What an interrupted measurement leaves behind, told as it is interrupted."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import click

from specplan.reports.output import folded


class Kept:
    """An `estimator.progress.Progress` of kept traces; says on Ctrl-C how many they are.

    Entered before the progress bar, it speaks when that has gone.
    """

    def __init__(self, path: Path | None) -> None:
        """Begins with none.

        Args:
          path: the profile's, beside which traces are kept; None: nowhere.
        """
        self._prompts = 0
        self._path = path
        self._finished = 0

    def __enter__(self) -> Kept:
        return self

    def expect(self, steps: int) -> None:
        """Adds to the prompts."""
        self._prompts += steps

    def step(self, count: int = 1) -> None:
        """Counts prompts whose traces are kept."""
        self._finished += count

    def note(self, text: str) -> None:
        """Does nothing: what is kept is counted alone."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is KeyboardInterrupt and self._prompts > 0:
            click.echo(folded(self.said), err=True)

    @property
    def said(self) -> str:
        """What a user is told."""
        if self._path is None:
            return "Nothing is kept: with -o FILE the traces of finished prompts would be."
        return (
            f"Kept beside {self._path}: the traces of {self._finished} of {self._prompts} prompts, "
            "no times. The same command goes on from there."
        )
