"""What blocks cost: the ways to state it that `specplan.options.costs` holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from specplan.options.kinds import Kind, kinds_of

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.cost.pricing import Pricing


@dataclass(frozen=True)
class Background:
    """What costs are made from beside their own options.

    profile: the file that is planned from; None: none is.
    max_gamma: the largest γ to price.
    """

    profile: Profile | None
    max_gamma: int


@dataclass(frozen=True, kw_only=True)
class CostKind(Kind):
    """A way to state what blocks cost.

    price: from its settings to one pricing or several, one for each row of a table; what it refuses
      it raises as a ValueError, or as a click.UsageError where options do not fit together.
    """

    price: Callable[[Any, Background], tuple[Pricing, ...]]


@cache
def cost_kinds() -> tuple[CostKind, ...]:
    """Returns all ways, in order."""
    return kinds_of("specplan.options.costs")


def prices(kind: CostKind, settings: Any, background: Background) -> tuple[Pricing, ...]:
    """Returns what blocks cost as a user states it, c_hat from the profile where none is known.

    Raises:
      click.UsageError, OSError, ValueError: as the way does.
    """
    found = kind.price(settings, background)
    if background.profile is None:
        return found
    c_hat = background.profile.c_hat
    return tuple(each if each.c_hat is not None else replace(each, c_hat=c_hat) for each in found)
