"""Tokens per target call at one gamma."""

from dataclasses import dataclass

from specplan.options.acceptances.accepted_fraction import CountedAt
from specplan.options.declared import option
from specplan.options.kinds import AcceptanceKind, Background, Stated


@dataclass(frozen=True)
class BlockEfficiency(CountedAt, AcceptanceKind):
    """The tokens, and their gamma."""

    order = 3
    needs = ("block_efficiency", "at_gamma")

    block_efficiency: float = option(
        "--block-efficiency",
        type=float,
        metavar="E",
        help="Tokens per target call (mean acceptance length); with --at-gamma.",
    )

    def make(self, background: Background) -> Stated:
        from simulator.acceptance.conversions import alpha_from_block_efficiency
        from simulator.acceptance.iid import Iid

        alpha = alpha_from_block_efficiency(self.block_efficiency, self.at_gamma)
        return Stated((Iid(float(alpha), self.at_gamma),), counted=True)
