"""Where the numbers of `specplan plan` come from: acceptance once, costs once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.cost.cost import Cost
    from simulator.cost.curves import CostModel


@dataclass(frozen=True, slots=True)
class Pricing:
    """One set of costs to plan with.

    cost: of blocks of one pass over the batch.
    c_hat: the ratio in operations where the source of the costs knows it.
    batch: sequences decoded together.
    """

    cost: Cost
    c_hat: float | None = None
    batch: int = 1


def verify_points(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> dict[int, float]:
    """Returns milliseconds by tokens of the options --verify-ms N=MS; their callback.

    Raises:
      click.BadParameter: if one is not of that form, or N comes twice.
    """
    points: dict[int, float] = {}
    for value in values:
        tokens, equals, milliseconds = value.partition("=")
        try:
            n, ms = int(tokens), float(milliseconds)
        except ValueError:
            equals = ""
        if not equals:
            raise click.BadParameter(f"must be N=MS, such as 4=33, got {value!r}")
        if n < 2:
            raise click.BadParameter(f"N must be at least 2 (1 is --target-ms), got {value!r}")
        if n in points:
            raise click.BadParameter(f"N = {n} is given twice")
        if not (math.isfinite(ms) and ms > 0):
            raise click.BadParameter(f"MS must be finite and above 0, got {value!r}")
        points[n] = ms
    return points


def duration(
    _ctx: click.Context, _param: click.Parameter, value: float | None
) -> float | None:
    """Returns the value of an option that is a time; its callback.

    Raises:
      click.BadParameter: if it is negative, infinite or not a number.
    """
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise click.BadParameter(f"must be finite and at least 0, got {value:g}")
    return value


def acceptance(
    *,
    alpha: tuple[float, ...] | None,
    accepted_fraction: float | None,
    block_efficiency: float | None,
    at_gamma: int | None,
    profile: Profile | None,
    lenience: float | None,
) -> tuple[float, ...]:
    """Returns the acceptance rates that the options state, or that follow from what they state.

    Raises:
      click.UsageError: if not exactly one of the four is given, or something goes with another.
      ValueError: if a number is out of range.
    """
    given = _given(
        {
            "--alpha": alpha,
            "--accepted-fraction": accepted_fraction,
            "--block-efficiency": block_efficiency,
            "--profile": profile,
        }
    )
    if len(given) != 1:
        found = "none of them" if not given else " and ".join(given)
        raise click.UsageError(
            "give the acceptance by exactly one of --alpha, --accepted-fraction, "
            f"--block-efficiency and --profile, got {found}"
        )
    (source,) = given
    counted = source in ("--accepted-fraction", "--block-efficiency")
    if counted and at_gamma is None:
        raise click.UsageError(f"{source} needs --at-gamma, the gamma that it was counted at")
    if not counted and at_gamma is not None:
        raise click.UsageError("--at-gamma belongs to --accepted-fraction or --block-efficiency")
    if profile is None and lenience is not None:
        raise click.UsageError("--lenience needs --profile: alpha alone does not tell alpha(l)")

    if alpha is not None:
        return alpha
    if profile is not None:
        if lenience is None:
            return (profile.alpha,)
        from simulator.acceptance.lenience_curve import interpolated_alpha

        return (interpolated_alpha(profile.alpha_by_lenience, lenience=lenience),)
    from simulator.acceptance.conversions import (
        alpha_from_accepted_fraction,
        alpha_from_block_efficiency,
    )

    assert at_gamma is not None
    if accepted_fraction is not None:
        return (float(alpha_from_accepted_fraction(accepted_fraction, at_gamma)),)
    assert block_efficiency is not None
    return (float(alpha_from_block_efficiency(block_efficiency, at_gamma)),)


def pricings(
    *,
    c: tuple[float, ...] | None,
    target_ms: float | None,
    draft_ms: float | None,
    verify_ms: Mapping[int, float],
    overhead_ms: float | None,
    roofline: tuple[Pricing, ...] | None,
    profile: Profile | None,
) -> tuple[Pricing, ...]:
    """Returns the costs that the options state, or the profile where they state none.

    Costs on the command line go before those of a profile, from which c_hat comes all the same.

    Raises:
      click.UsageError: if the cost is missing, incomplete or given twice.
      ValueError: if a time is out of range.
    """
    times = _given(
        {
            "--target-ms": target_ms,
            "--draft-ms": draft_ms,
            "--verify-ms": verify_ms if verify_ms else None,
            "--overhead-ms": overhead_ms,
        }
    )
    sources = _given({"--c": c}) + times[:1] + _given({"--target-config": roofline})
    if len(sources) > 1:
        raise click.UsageError(f"{sources[0]} cannot be combined with {sources[1]}")
    c_hat = None if profile is None else profile.c_hat
    if c is not None:
        from simulator.cost.ratio import Ratio

        return tuple(Pricing(cost=Ratio(ratio), c_hat=c_hat) for ratio in c)
    if roofline is not None:
        return roofline
    if times:
        cost = _timed(target_ms, draft_ms, verify_ms, overhead_ms, times[0])
        return (Pricing(cost=cost, c_hat=c_hat),)
    if profile is not None:
        return (Pricing(cost=profile.cost, c_hat=c_hat),)
    raise click.UsageError(
        "give the cost: --c, or --target-ms and --draft-ms, or --target-config, --draft-config "
        "and --gpu, or a --profile that holds it"
    )


def _timed(
    target_ms: float | None,
    draft_ms: float | None,
    verify_ms: Mapping[int, float],
    overhead_ms: float | None,
    first: str,
) -> CostModel:
    if target_ms is None or draft_ms is None:
        missing = "--target-ms" if target_ms is None else "--draft-ms"
        raise click.UsageError(f"{first} needs {missing}")
    if target_ms == 0:
        raise click.UsageError("--target-ms must be above 0, got 0")
    from simulator.cost.curves import CostModel

    return CostModel(
        target_seconds={n: ms / 1000 for n, ms in {1: target_ms, **verify_ms}.items()},
        draft_seconds=draft_ms / 1000,
        overhead_seconds=0.0 if overhead_ms is None else overhead_ms / 1000,
    )


def _given(options: Mapping[str, object]) -> list[str]:
    return [name for name, value in options.items() if value is not None]
