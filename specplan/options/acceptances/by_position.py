"""`--acceptance-by-position`: rates by position, as servers print them."""

from dataclasses import dataclass

import click

from specplan.options.declared import option, rare
from specplan.options.kinds import AcceptanceKind, Background, Stated, counted
from specplan.options.ranges import shares


@dataclass(frozen=True)
class Positions(AcceptanceKind):
    """Acceptance rates by position, and whether they are conditional."""

    order = 4
    needs = ("by_position",)

    by_position: tuple[float, ...] = option(
        "--acceptance-by-position",
        callback=shares,
        metavar="R,R,...",
        help="Rates of positions 1, 2, ... of a draft. As servers print them: they count all "
        "drafts.",
    )
    conditional: bool = rare(
        default=False, help="The rates count only the drafts whose earlier positions were accepted."
    )

    def make(self, background: Background) -> Stated:
        import numpy as np

        from simulator.acceptance.accepted import Accepted

        rates = np.cumprod(self.by_position) if self.conditional else self.by_position
        try:
            return counted([Accepted.of_rates(rates)], background)
        except ValueError as error:
            raise click.UsageError(
                f"--acceptance-by-position: {error}; rates that count only the drafts whose "
                "earlier positions were accepted go with --conditional"
            ) from None
