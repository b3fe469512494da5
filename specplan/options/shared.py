"""Options that several commands share: the form and the file of an answer, the text to read."""

from pathlib import Path
from typing import Any

import click

from specplan.options.declared import Decorator, command_option
from specplan.reports.output import writable

json_option = command_option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def output_option(
    help: str, *, required: bool = False, metavar: str | None = "FILE", callback: Any = writable
) -> Decorator:
    """Returns the option -o, which names what a command writes; its help says what that is."""
    kind = click.Path(path_type=Path)
    return command_option(
        "-o",
        "--output",
        metavar=metavar,
        type=kind,
        callback=callback,
        required=required,
        help=help,
    )


existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)
corpus_option = command_option(
    "--corpus",
    "sources",
    multiple=True,
    required=True,
    metavar="FILE|FOLDER",
    help="Text: .txt, .py, .jsonl, each also .gz; of a folder all of these. Repeatable.",
)
glob_option = command_option(
    "--glob", "pattern", metavar="PATTERN", help="Which files of a folder, such as '**/*.md'."
)
