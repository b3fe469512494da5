"""The choice of γ, and the form of the answer of `specplan plan`."""

from dataclasses import dataclass

import click

from engines.kind import names_of
from specplan.options.answers import Written
from specplan.options.declared import option, rare
from specplan.options.draft_kind import DraftNamed


@dataclass(frozen=True)
class Choice(DraftNamed):
    """Candidates and criteria of the choice of γ; see each option's help."""

    c_hat: float | None = rare(
        help="Operations of a draft step over operations of a target step.  [default: c]"
    )
    gamma: int | None = option(metavar="G", help="Evaluate this gamma.  [default: the best]")
    near: float = rare(
        type=click.FloatRange(0, 100, max_open=True),
        default=1.0,
        metavar="PERCENT",
        help="Advise the smallest gamma that is no more than this slower than the best.",
    )
    reads_again: bool = option(
        default=False,
        help="The target reads accepted tokens again. After a rejection, as recurrent layers do.",
    )


@dataclass(frozen=True)
class Answer(Written):
    """The file and the form of an answer, and the server to print flags for."""

    server: str | None = option(
        "--export",
        type=click.Choice(names_of(lambda kind: kind.exports)),
        help="Print only the flags of the advised gamma. --gamma states another.",
    )
