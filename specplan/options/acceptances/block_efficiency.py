"""Tokens per target call at one gamma."""

from dataclasses import dataclass

from specplan.options.acceptances.accepted_fraction import CountedAt
from specplan.options.declared import option
from specplan.options.kinds import AcceptanceKind, Background, Stated


@dataclass(frozen=True)
class Settings(CountedAt):
    """The tokens, and their gamma."""

    block_efficiency: float = option(
        "--block-efficiency", type=float, metavar="E",
        help="Tokens per target call (mean acceptance length); with --at-gamma.",
    )


def _make(settings: Settings, _: Background) -> Stated:
    from simulator.acceptance.conversions import alpha_from_block_efficiency
    from simulator.acceptance.iid import Iid

    alpha = alpha_from_block_efficiency(settings.block_efficiency, settings.at_gamma)
    return Stated((Iid(float(alpha), settings.at_gamma),), counted=True)


KIND = AcceptanceKind(
    order=3, settings=Settings, needs=("block_efficiency", "at_gamma"), make=_make
)
