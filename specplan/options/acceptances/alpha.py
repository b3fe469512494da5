"""`--alpha`: one acceptance rate for all positions."""

from dataclasses import dataclass

from specplan.options.declared import option
from specplan.options.kinds import AcceptanceKind, Background, Stated
from specplan.options.ranges import shares


@dataclass(frozen=True)
class Alphas(AcceptanceKind):
    """One or several acceptance rates alpha; see the option's help."""

    order = 1
    needs = ("alpha",)

    alpha: tuple[float, ...] = option(
        callback=shares, metavar="A", help="Acceptance rate alpha in [0, 1]."
    )

    def make(self, background: Background) -> Stated:
        from simulator.acceptance.iid import Iid

        return Stated(tuple(Iid(alpha) for alpha in self.alpha))
