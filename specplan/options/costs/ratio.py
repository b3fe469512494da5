"""`--c`: the ratio c of Theorem 8 (Leviathan et al. 2023), with free verification."""

from dataclasses import dataclass

from simulator.cost.pricing import Pricing
from specplan.options.declared import option
from specplan.options.kinds import Background, CostKind
from specplan.options.ranges import numbers


@dataclass(frozen=True)
class Ratios(CostKind):
    """One or several ratios c; see the option's help."""

    order = 1
    needs = ("c",)

    c: tuple[float, ...] = option(
        callback=numbers, metavar="C", help="Draft step time over target step time; or:"
    )

    def price(self, background: Background) -> tuple[Pricing, ...]:
        from simulator.cost.cost import Ratio

        return tuple(Pricing(Ratio(c)) for c in self.c)
