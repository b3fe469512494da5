"""Output of a command: one JSON object, a warning, an error's message, its work, a file."""

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import click

from specplan.reports.table import folded

STDOUT = Path("/dev/stdout")
CLONE = Path(__file__).parents[2]
BAD_INPUT, FAILURE = 2, 1
# The message of click for `--alpha 0.7 0.5`.
_SPACED_LIST = re.compile(r"Got unexpected extra arguments? \([\d.,%/: \]]+\)")
# Errors of the machine, not of a file or number that the user named.
_MACHINE_ERRORS = frozenset((errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.ENOMEM))

# Seconds between lines on the work of a command: on a terminal, and elsewhere.
STAGE_SECONDS = (2.0, 30.0)
# Stages of commands, until a bar or output shows the work; figures have a bar from the start.
WORK = {
    "plan": "computing speed-ups by draft length and load",
    "tree": "computing the best tree",
    "traffic": "computing batches, latencies and capacities",
    "size": "computing deployments, and simulating the best one",
    "observe": "reading the sources, and planning",
    "report": "drawing the page",
    "compare": "comparing prompt by prompt",
    "tune": "predicting the runs",
    "figures": "",
}


@contextmanager
def announced(command: str) -> Iterator[None]:
    """Context in which work that lasts is named on stderr, each `stage` once.

    After 2 s on a terminal, else after 30 s, as for a `Bar`, which replaces these lines.
    """
    from estimator.progress import current_stage, stage

    over, terminal = Event(), sys.stderr is not None and sys.stderr.isatty()

    def announce() -> None:
        said = {""}
        while not over.wait(STAGE_SECONDS[0 if terminal else 1]):
            if (text := current_stage()) not in said:
                said.add(text)
                click.echo(f"{command}: {text} …", err=True)

    Thread(target=announce, daemon=True).start()
    try:
        with stage(WORK.get(command, "loading the models")):
            yield
    finally:
        over.set()


def writable(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """Returns an output path unchanged; refuses, before any long run, a path that is not writable.

    It is the callback of options that name an output file. It does not touch the file, and for a
    link it checks the target. A device or a pipe needs no writable folder. "-" is stdout. Two
    options of a command must not name one file.
    """
    if value == Path("-"):
        return STDOUT
    outputs = ctx.meta.setdefault("specplan.outputs", {})
    other = outputs.setdefault(os.path.realpath(value), param)
    if other is not param and (value.is_file() or not value.exists()):
        raise click.BadParameter(f"{value} is also the file of {other.opts[-1]}: name another")
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
    print_note(f"Warning: {message}")


def print_note(message: str) -> None:
    """Prints a note to stderr."""
    click.echo(folded(message), err=True)


def describe(error: Exception) -> tuple[str, int]:
    """Returns the message to print for an error, and the exit status."""
    if isinstance(error, click.ClickException):
        bad_input = isinstance(error, click.UsageError | click.FileError)
        message = error.format_message()
        if _SPACED_LIST.fullmatch(message):
            message += ": a list has commas and no spaces, 0.7,0.5"
        return message, BAD_INPUT if bad_input else error.exit_code
    # FloatingPointError: a model whose logits are NaN, which the message names.
    if isinstance(error, ValueError | FloatingPointError):
        return str(error), BAD_INPUT
    if isinstance(error, RecursionError):
        return "input must be JSON, got lists or objects nested too deep", BAD_INPUT
    if isinstance(error, OSError):
        named = error.filename is not None and error.strerror is not None
        message = f"{error.filename}: {error.strerror}" if named else str(error)
        return message, FAILURE if error.errno in _MACHINE_ERRORS else BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and (way := _installation(error.name)) is not None:
        return f"needs {error.name}: run {way}", FAILURE
    return f"{type(error).__name__}: {error}".removesuffix(": "), FAILURE


def _installation(module: str | None) -> str | None:
    """Returns the command that installs a module which specplan or one of its extras requires.

    In a clone it installs the extra, elsewhere the extra's packages. None if nothing requires the
    module. The extra `dev` is ignored.
    """
    from importlib.metadata import PackageNotFoundError, requires

    wanted = (module or "").partition(".")[0].replace("_", "-").lower()
    try:
        requirements = requires("specplan") or ()
    except PackageNotFoundError:  # run from a folder
        return None
    packages: dict[str, list[str]] = {}
    for requirement in requirements:
        name = re.match(r"[\w.-]*", requirement)
        extra = re.search(r"extra == ['\"](.+)['\"]", requirement)
        if name and name[0] != "specplan":
            packages.setdefault("" if extra is None else extra[1], []).append(name[0])
    for part, names in packages.items():
        if part != "dev" and wanted in (name.replace("_", "-").lower() for name in names):
            if (CLONE / "pyproject.toml").is_file():
                folder = f"'.[{part}]'" if part else "."
                return f"pip install -e {folder} in specplan's folder"
            return f"pip install {' '.join(names)}"
    return None
