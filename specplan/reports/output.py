"""Output of a command: one JSON object, a warning, a file."""

import os
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

WIDTH = 80
STDOUT = Path("/dev/stdout")


def writable(_ctx: click.Context, _param: click.Parameter, value: Path) -> Path:
    """Returns an output path unchanged; raises a usage error, before any long run, if not writable.

    The callback of all options that name an output file, `type=click.Path(path_type=Path)`. The
    file itself is not touched. For a link its target is checked; a device or a pipe needs no
    writable folder. "-" is stdout.
    """
    if value == Path("-"):
        return STDOUT
    if value.is_dir():
        raise click.BadParameter(f"{value} is a folder")
    if value.exists() and not value.is_file():
        if not os.access(value, os.W_OK):
            raise click.BadParameter(f"{value} is not writable")
        return value
    folder = Path(os.path.realpath(value)).parent if value.is_symlink() else value.parent
    if not folder.is_dir():
        raise click.BadParameter(f"folder {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise click.BadParameter(f"folder {folder} is not writable")
    return value


def print_json(value: object) -> None:
    from estimator.writing import json_text

    click.echo(json_text(value))


def warn(message: str) -> None:
    """Prints one warning to stderr."""
    tell(f"Warning: {message}")


def tell(message: str) -> None:
    """Prints a note to stderr."""
    click.echo(folded(message), err=True)


def folded(text: str) -> str:
    """Returns text broken between words into lines of at most WIDTH characters."""
    return "\n".join(
        line
        if len(line) <= WIDTH
        else textwrap.fill(
            line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        for line in text.split("\n")
    )


@contextmanager
def notices_printed() -> Iterator[None]:
    """Prints our notices at once; Python's other warnings are handled as usual."""
    from estimator.progress import Notice

    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, Notice):
                warn(str(message))
            else:
                others(message, category, filename, lineno, file, line)

        warnings.simplefilter("always", Notice)
        warnings.showwarning = show
        yield
