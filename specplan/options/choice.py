"""Which γ a user wants to see, and where the answer goes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from engines.registry import names_of
from specplan.options.declared import option
from specplan.reports.output import Printed, Written, writable


@dataclass(frozen=True)
class Longest:
    """How far to plan; see the option's help."""

    max_gamma: int = option(
        "--max-gamma", type=int, default=32, metavar="G", advanced=True,
        help="The largest gamma to consider.",
    )


@dataclass(frozen=True)
class Choice(Longest):
    """What is chosen among and by; see each option's help."""

    c_hat: float | None = option(
        "--c-hat", type=float, advanced=True,
        help="Operations of a draft step over those of a target step.  [default: c]",
    )
    gamma: int | None = option(
        "--gamma", type=int, metavar="G", help="Evaluate this gamma.  [default: the best]"
    )
    near: float = option(
        "--near", type=click.FloatRange(0, 100, max_open=True), default=1.0, metavar="PERCENT",
        advanced=True,
        help="Advise the smallest gamma that is no more than this slower than the best.",
    )
    reads_again: bool = option(
        "--reads-again", is_flag=True, default=False,
        help="The target has recurrent layers, and reads the accepted tokens again after a "
        "rejection.",
    )


@dataclass(frozen=True)
class Shown(Printed):
    """The form of an answer; see the option's help."""

    as_json: bool = option("--json", is_flag=True, default=False, help="Print one JSON object.")


@dataclass(frozen=True)
class Answer(Shown, Written):
    """Where the answer goes and in which form; see each option's help."""

    server: str | None = option(
        "--export", type=click.Choice(names_of(lambda kind: kind.exports)),
        help="Print only what sets the advised gamma (or --gamma) there.",
    )
    output: Path | None = option(
        "-o", "--output", type=click.Path(path_type=Path), callback=writable,
        help="Write the JSON object here, too.",
    )
