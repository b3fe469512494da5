"""The ratio c of Theorem 8 (Leviathan et al. 2023): verification is free."""

from dataclasses import dataclass

from simulator.cost.pricing import Pricing
from specplan.options.declared import option
from specplan.options.kinds import Background, CostKind
from specplan.options.ranges import numbers


@dataclass(frozen=True)
class Settings:
    """See the option's help."""

    c: tuple[float, ...] = option(
        "--c", callback=numbers, metavar="C", help="Draft step time over target step time; or:"
    )


def _price(settings: Settings, _: Background) -> tuple[Pricing, ...]:
    from simulator.cost.ratio import Ratio

    return tuple(Pricing(Ratio(c)) for c in settings.c)


KIND = CostKind(order=1, settings=Settings, needs=("c",), price=_price)
