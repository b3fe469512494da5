"""The costs that a profile holds, of one sequence at a time."""

from dataclasses import dataclass
from pathlib import Path

import click

from simulator.cost.pricing import Pricing
from specplan.options.declared import option
from specplan.options.kinds import Background, CostKind


@dataclass(frozen=True)
class Profiled:
    """The file; see the option's help."""

    profile_path: Path | None = option(
        "--profile",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Acceptance and costs by specplan measure. Other costs go before its own.",
    )


@dataclass(frozen=True)
class OfProfile(Profiled, CostKind):
    """The file."""

    order = 5
    needs = ("profile_path",)

    def price(self, background: Background) -> tuple[Pricing, ...]:
        profile = background.profile
        if profile is None or profile.cost is None:
            raise ValueError(
                f"profile {self.profile_path} must hold costs, got only acceptance; give them by "
                "--c, or by --target-ms and --draft-ms"
            )
        return (Pricing(profile.cost, timed=tuple(profile.improvement_factor)),)
