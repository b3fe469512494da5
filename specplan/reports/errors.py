"""The message of an error for users, and its exit status."""

import errno
import re

import click

# The message of click for `--alpha 0.7 0.5`.
_SPACED_LIST = re.compile(r"Got unexpected extra arguments? \([\d.,%/: \]]+\)")

BAD_INPUT = 2
FAILURE = 1

# Errors of the machine, not of a file or number that the user named.
_MACHINE_ERRORS = frozenset((errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.ENOMEM))


def describe(error: Exception) -> tuple[str, int]:
    """Returns the message for a user and the exit status."""
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
    if isinstance(error, ModuleNotFoundError) and (extra := _extra_of(error.name)) is not None:
        what = f"'.[{extra}]'" if extra else "."
        return f"needs {error.name}: run pip install -e {what} in specplan's folder", FAILURE
    name = type(error).__name__
    return (f"{name}: {error}" if str(error) else name), FAILURE


def _extra_of(module: str | None) -> str | None:
    """Returns the extra of this package that installs a module; "" for the package itself.

    None if neither installs it; the extra `dev` does not count.
    """
    if module is None:
        return None
    from importlib.metadata import PackageNotFoundError, requires

    wanted = module.partition(".")[0].replace("_", "-").lower()
    try:
        requirements = requires("specplan") or ()
    except PackageNotFoundError:  # run from a folder
        return None
    for requirement in requirements:
        name, _, condition = requirement.partition(";")
        extra = re.search(r"extra == ['\"](.+)['\"]", condition)
        package = re.match(r"[\w.-]+", name)
        if package is None or (extra is not None and extra[1] == "dev"):
            continue
        if package[0].replace("_", "-").lower() == wanted:
            return "" if extra is None else extra[1]
    return None
