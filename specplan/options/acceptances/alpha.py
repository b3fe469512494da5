"""The acceptance rate alpha itself, the same at every position."""

from dataclasses import dataclass

from specplan.options.declared import option
from specplan.options.kinds import AcceptanceKind, Background, Stated
from specplan.options.ranges import shares


@dataclass(frozen=True)
class Settings:
    """See the option's help."""

    alpha: tuple[float, ...] = option(
        "--alpha", callback=shares, metavar="A", help="Acceptance rate alpha in [0, 1]."
    )


def _make(settings: Settings, _: Background) -> Stated:
    from simulator.acceptance.iid import Iid

    return Stated(tuple(Iid(alpha) for alpha in settings.alpha))


KIND = AcceptanceKind(order=1, settings=Settings, needs=("alpha",), make=_make)
