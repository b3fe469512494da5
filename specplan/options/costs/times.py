"""`--target-ms`, `--draft-ms`, `--verify-ms`: times of steps and of target passes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import click

from simulator.cost.pricing import Pricing
from specplan.options.declared import option, rare
from specplan.options.kinds import Background, CostKind
from specplan.options.ranges import callback, duration


@callback
def verify_points(values: tuple[str, ...]) -> dict[int, float]:
    """Returns milliseconds by number of tokens from values N=MS, each N at most once."""
    points: dict[int, float] = {}
    for value in values:
        tokens, equals, milliseconds = value.partition("=")
        try:
            n, ms = int(tokens), float(milliseconds)
        except ValueError:
            equals = ""
        if not equals:
            raise ValueError(f"must be N=MS, such as 4=33, got {value!r}")
        if n < 2:
            raise ValueError(f"N must be at least 2 (1 is --target-ms), got {value!r}")
        if n in points:
            raise ValueError(f"N = {n} is given twice")
        if not (math.isfinite(ms) and ms > 0):
            raise ValueError(f"MS must be finite and above 0, got {value!r}")
        points[n] = ms
    return points


@dataclass(frozen=True)
class DraftTimes:
    """Times of a block except for verification; see each option's help."""

    draft_ms: float = option(callback=duration, help="Draft step, milliseconds.")
    overhead_ms: float = rare(
        callback=duration, default=0.0, help="Everything else in a block, milliseconds."
    )


@dataclass(frozen=True)
class Times(DraftTimes, CostKind):
    """Times of target, draft and overhead; see each option's help."""

    order = 2
    needs = ("target_ms", "draft_ms")

    target_ms: float = option(callback=duration, help="Target step, milliseconds.")
    verify_ms: Mapping[int, float] | None = option(
        multiple=True,
        callback=verify_points,
        metavar="N=MS",
        help="Target pass over N tokens; repeat for more points.  [default: --target-ms]",
    )
    force: bool = rare(
        default=False,
        help="Accept a --verify-ms below --target-ms, or below the time of fewer tokens.",
    )

    def price(self, background: Background) -> tuple[Pricing, ...]:
        target_ms, points = self.target_ms, self.verify_ms or {}
        if target_ms == 0:
            raise click.UsageError("--target-ms must be above 0, got 0")
        for n, ms in points.items():
            if ms < target_ms and not self.force:
                raise click.UsageError(
                    f"--verify-ms must not be below --target-ms {target_ms:g}, the time of one "
                    f"token, got {n}={ms:g}: are both times of one machine? --force takes them all "
                    "the same"
                )
        for (fewer, less), (n, ms) in pairwise(sorted(points.items())):
            if ms < less and not self.force:
                raise click.UsageError(
                    "--verify-ms must not fall with the number of tokens, got "
                    f"{fewer}={less:g} and {n}={ms:g}: --force takes them all the same"
                )
        from simulator.cost.curves import CostModel

        cost = CostModel(
            target_seconds={n: ms / 1000 for n, ms in {1: target_ms, **points}.items()},
            draft_seconds=self.draft_ms / 1000,
            overhead_seconds=self.overhead_ms / 1000,
        )
        return (Pricing(cost),)
