"""The form and the file of a command's answer: the options, and the function that gives it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from specplan.options.declared import declared, option
from specplan.reports.output import STDOUT, print_json, writable


@dataclass(frozen=True)
class Printed:
    """The form of a printed result: as JSON or as text.

    as_json: Print one JSON object.
    """

    as_json: bool = option("--json", is_flag=True, default=False)


@dataclass(frozen=True)
class Written(Printed):
    """The form of a printed result, and the JSON file that it is written to; None: no file.

    output: Write the JSON object here, too.
    """

    output: Path | None = option(
        "-o", "--output", type=click.Path(path_type=Path), callback=writable
    )


def answer(data: Callable[[], object], text: Callable[[], str], *, form: Printed) -> None:
    """Prints a command's result in the requested form, then writes it, if requested, to a file."""
    output = form.output if isinstance(form, Written) else None
    if form.as_json or output == STDOUT:
        print_json(data())
    else:
        click.echo(text())
    if output not in (None, STDOUT):
        from estimator.writing import write_json

        write_json(data(), output)


json_option = declared(Printed)["as_json"]


def output_option(
    help: str, *, required: bool = False, metavar: str | None = "FILE", callback: Any = writable
) -> Any:
    """Returns the option -o, the file that a command writes."""
    kind = click.Path(path_type=Path)
    return option(
        "-o",
        "--output",
        metavar=metavar,
        type=kind,
        callback=callback,
        required=required,
        help=help,
    )
