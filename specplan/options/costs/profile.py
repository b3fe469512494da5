"""The costs of one sequence in a profile."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cost.pricing import Pricing
from specplan.options.declared import option
from specplan.options.kinds import Background, CostKind

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile


@dataclass(frozen=True)
class Profiled:
    """The file of a profile; see the option's help."""

    profile_path: Any = option(
        "--profile",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Acceptance and costs by specplan measure. Other costs go before its own.",
    )

    def read(self) -> Profile | None:
        found: Profile | Path | None = self.profile_path
        if not isinstance(found, Path):
            return found
        from estimator.profiles.profile_file import read_profile

        return read_profile(found)


class OfProfile(Profiled, CostKind):
    """The profile with costs of one sequence."""

    order = 5
    needs = ("profile_path",)

    def price(self, background: Background) -> tuple[Pricing, ...]:
        profile = background.profile
        if profile is None or profile.cost is None:
            named = f" {self.profile_path}" if isinstance(self.profile_path, Path) else ""
            raise ValueError(
                f"profile{named} must hold costs, got only acceptance; give them by --c, or by "
                "--target-ms and --draft-ms"
            )
        return (Pricing(profile.cost, timed=tuple(profile.improvement_factor)),)
