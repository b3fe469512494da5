"""Rates by position, as servers print them."""

from dataclasses import dataclass

import click

from specplan.options.declared import option
from specplan.options.kinds import AcceptanceKind, Background, Stated
from specplan.options.ranges import shares


@dataclass(frozen=True)
class Settings:
    """The rates, and what they count."""

    by_position: tuple[float, ...] = option(
        "--acceptance-by-position", callback=shares, metavar="R,R,...",
        help="How often positions 1, 2, ... of a draft are accepted, counting all drafts, as "
        "servers print it.",
    )
    conditional: bool = option(
        "--conditional", is_flag=True, default=False, advanced=True,
        help="Those rates count only the drafts whose earlier positions were accepted.",
    )


def _make(settings: Settings, _: Background) -> Stated:
    from simulator.acceptance.by_position import ByPosition

    if settings.conditional:
        return Stated((ByPosition(settings.by_position),), counted=True)
    try:
        return Stated((ByPosition.of_unconditional(settings.by_position),), counted=True)
    except ValueError as error:
        raise click.UsageError(
            f"--acceptance-by-position: {error}; rates that count only the drafts whose earlier "
            "positions were accepted go with --conditional"
        ) from None


KIND = AcceptanceKind(order=4, settings=Settings, needs=("by_position",), make=_make)
