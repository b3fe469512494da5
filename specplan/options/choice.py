"""Which γ a user of `specplan plan` wants to see, and how the answer is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from specplan.options.groups import option_group
from specplan.options.json_option import json_option
from specplan.reports.export import exported_to
from specplan.reports.output import writable


@dataclass(frozen=True, slots=True)
class ChoiceOptions:
    """What is chosen among and by; see each option's help."""

    c_hat: float | None
    gamma: int | None
    max_gamma: int
    near: float


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Where the answer goes and in which form; see each option's help."""

    server: str | None
    output: Path | None
    as_json: bool


choice_options = option_group(
    "choice",
    ChoiceOptions,
    [
        click.option(
            "--c-hat",
            type=float,
            help="Operations of a draft step over those of a target step.  [default: c]",
        ),
        click.option(
            "--gamma", type=int, metavar="G", help="Evaluate this gamma.  [default: the best]"
        ),
        click.option(
            "--max-gamma", type=int, default=32, metavar="G", help="The largest gamma to consider."
        ),
        click.option(
            "--near",
            type=float,
            default=1.0,
            metavar="PERCENT",
            help="Advise the smallest gamma that is no more than this slower than the best.",
        ),
    ],
)

output_options = option_group(
    "output_options",
    OutputOptions,
    [
        click.option(
            "--export",
            "server",
            type=click.Choice(exported_to()),
            help="Print only what sets the advised gamma (or --gamma) there.",
        ),
        click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path),
            callback=writable,
            help="Write the JSON object here, too.",
        ),
        json_option,
    ],
)
