"""Which text to read, as options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from specplan.options.declared import command_option

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
