"""`--block-efficiency`: tokens per target call at one gamma."""

from dataclasses import dataclass

from specplan.options.acceptances.accepted_fraction import CountedAt
from specplan.options.declared import option
from specplan.options.kinds import AcceptanceKind, Background, Stated, counted


@dataclass(frozen=True)
class BlockEfficiency(CountedAt, AcceptanceKind):
    """Tokens per target call, and the gamma at which they were counted."""

    order = 3
    needs = ("block_efficiency", "at_gamma")

    block_efficiency: float = option(
        metavar="E",
        help="Mean acceptance length; with --at-gamma. It is the tokens per call of the target.",
    )

    def make(self, background: Background) -> Stated:
        from simulator.acceptance.accepted import Accepted

        length = self.block_efficiency
        if not 1 <= length <= self.at_gamma + 1:
            raise ValueError(
                f"block_efficiency must lie in [1, gamma + 1 = {self.at_gamma + 1}], got {length:g}"
            )
        return counted([Accepted(self.at_gamma, length)], background)
