"""How to answer a program: `--json` and `-o`."""

from __future__ import annotations

from pathlib import Path

import click

from specplan.options.declared import command_option
from specplan.reports.output import writable

json_option = command_option("--json", "as_json", is_flag=True, help="Print one JSON object.")
output_option = command_option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=writable,
    help="Write the JSON object here.",
)
