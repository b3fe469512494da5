"""Progress on stderr: a bar, or a line now and then; and a message after an interruption."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import click

from estimator.progress import Progress, stage
from specplan.reports.output import print_note

# Seconds between two lines of progress if stderr is not a terminal.
LINE_SECONDS = 30.0


class Bar(Progress):
    """A progress bar on stderr; a line every 30 s if stderr is not a terminal.

    what: the bar's label; unit: name of one step.
    """

    def __init__(self, what: str, unit: str) -> None:
        from tqdm import tqdm

        self._draws = sys.stderr.isatty()
        # With a delay, it is drawn when steps are expected; until then the stage is printed.
        draws = {"disable": not self._draws, "delay": 1e-9}
        self._bar: Any = tqdm(total=0, desc=what, unit=unit, **draws)
        self._stages = ExitStack()
        self._what, self._unit, self._done = what, unit, 0
        self._began = self._printed = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if error_type is None and self._done < self._bar.total:
            early = f"ended early at {self._done} of {self._bar.total} {self._unit}s: enough"
            if self._draws:
                self._bar.set_postfix_str(early)
            elif self._printed > self._began:
                click.echo(f"{self._what}: {early}", err=True)
        self._stages.close()
        self._bar.close()

    def expect(self, steps: int) -> None:
        if self._bar.total == 0:
            self._stages.enter_context(stage(""))
        self._bar.total += steps
        self._bar.refresh()

    def step(self, count: int = 1) -> None:
        self._bar.update(count)
        self._done += count
        now = time.monotonic()
        if not self._draws and now - self._printed >= LINE_SECONDS:
            self._printed = now
            done = f"{self._done} of {self._bar.total} {self._unit}s"
            click.echo(f"{self._what}: {done}, {now - self._began:.0f} s", err=True)

    def note(self, text: str) -> None:
        self._bar.set_postfix_str(text)

    def print(self, text: str, *, err: bool = False) -> None:
        """Prints lines to stdout or stderr without disturbing the bar."""
        with self._bar.external_write_mode():
            click.echo(text, err=err)


class Kept(Progress):
    """Counts finished prompts for a message on Ctrl-C; path: saved profile, None: not saved."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._prompts, self._finished = path, 0, 0

    @contextmanager
    def summarised(self) -> Iterator[Self]:
        """Context that prints on Ctrl-C how many prompts are saved. Enter it before a `Bar`."""
        try:
            yield self
        except KeyboardInterrupt:
            note = "Nothing is kept: with -o FILE the traces of finished prompts would be."
            if self._path is not None:
                note = (
                    f"Saved with {self._path}: the traces of {self._finished} of {self._prompts} "
                    "prompts, no times. The same command goes on from there."
                )
            if self._prompts > 0:
                print_note(note)
            raise

    def expect(self, steps: int) -> None:
        self._prompts += steps

    def step(self, count: int = 1) -> None:
        self._finished += count
