"""What blocks cost, as a user of `specplan plan` says it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.groups import option_group
from specplan.options.ranges import numbers
from specplan.options.stated import given
from specplan.reports.pricing import Pricing

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.cost.curves import CostModel


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


@dataclass(frozen=True, slots=True)
class CostOptions:
    """A ratio, or times; see each option's help."""

    c: tuple[float, ...] | None
    target_ms: float | None
    draft_ms: float | None
    verify_ms: dict[int, float]
    overhead_ms: float | None
    bench_paths: tuple[Path, ...]
    force: bool

    @property
    def stated(self) -> list[str]:
        """The names of the options that say a cost."""
        return given(
            {
                "--c": self.c,
                "--costs": self.bench_paths if self.bench_paths else None,
                "--target-ms": self.target_ms,
                "--draft-ms": self.draft_ms,
                "--verify-ms": self.verify_ms if self.verify_ms else None,
                "--overhead-ms": self.overhead_ms,
            }
        )


cost_options = option_group(
    "cost",
    CostOptions,
    [
        click.option(
            "--c", callback=numbers, metavar="C", help="Draft step time over target step time; or:"
        ),
        click.option(
            "--target-ms", type=float, callback=duration, help="Target step, milliseconds."
        ),
        click.option("--draft-ms", type=float, callback=duration, help="Draft step, milliseconds."),
        click.option(
            "--verify-ms",
            multiple=True,
            callback=verify_points,
            metavar="N=MS",
            help="Target pass over N tokens; repeat for more points.  "
            "[default: --target-ms for any N]",
        ),
        click.option(
            "--overhead-ms",
            type=float,
            callback=duration,
            help="Everything else in a block.  [default: 0]",
        ),
        click.option(
            "--costs",
            "bench_paths",
            type=click.Path(path_type=Path),
            multiple=True,
            metavar="FILE",
            help="The target's times from llama-bench -o json, llama-batched-bench or vllm bench "
            "latency, in place of --target-ms and --verify-ms; repeat for more files.",
        ),
        click.option(
            "--force",
            is_flag=True,
            help="Take a --verify-ms of several tokens below --target-ms, the time of one.",
        ),
    ],
)


def pricings(
    options: CostOptions,
    *,
    roofline: tuple[Pricing, ...] | None,
    profile: Profile | None,
) -> tuple[Pricing, ...]:
    """Returns the costs that the options state, or the profile's where they state none.

    Costs on the command line go before those of a profile, from which c_hat comes all the same.

    Args:
      options: as the user gave them.
      roofline: costs of a GPU, where the options for it are given.
      profile: the file that is planned from, if one is.

    Raises:
      click.UsageError: if the cost is missing, incomplete or given twice.
      ValueError: if a time is out of range.
    """
    times = [name for name in options.stated if name != "--c"]
    sources = given({"--c": options.c}) + times[:1] + given({"--target-config": roofline})
    if len(sources) > 1:
        raise click.UsageError(f"{sources[0]} cannot be combined with {sources[1]}")
    c_hat = None if profile is None else profile.c_hat
    if options.c is not None:
        from simulator.cost.ratio import Ratio

        return tuple(Pricing(cost=Ratio(ratio), c_hat=c_hat) for ratio in options.c)
    if roofline is not None:
        return roofline
    if times:
        timed = _benched(options) if options.bench_paths else _timed(options, times[0])
        return (Pricing(cost=timed, c_hat=c_hat),)
    measured = None if profile is None else profile.cost
    if measured is not None:
        return (Pricing(cost=measured, c_hat=c_hat),)
    raise click.UsageError(
        "give the cost: --c, or --target-ms and --draft-ms, or --target-config, --draft-config "
        "and --gpu, or a --profile that holds it"
    )


def _benched(options: CostOptions) -> CostModel:
    own = given(
        {
            "--target-ms": options.target_ms,
            "--verify-ms": options.verify_ms if options.verify_ms else None,
        }
    )
    if own:
        raise click.UsageError(f"--costs cannot be combined with {own[0]}")
    if options.draft_ms is None:
        raise click.UsageError("--costs needs --draft-ms: the files are of the target")
    from estimator.costs.benches import read_benches
    from simulator.cost.curves import CostModel

    return CostModel(
        target_seconds=read_benches(options.bench_paths),
        draft_seconds=options.draft_ms / 1000,
        overhead_seconds=0.0 if options.overhead_ms is None else options.overhead_ms / 1000,
    )


def _timed(options: CostOptions, first: str) -> CostModel:
    target_ms, draft_ms = options.target_ms, options.draft_ms
    if target_ms is None or draft_ms is None:
        missing = "--target-ms" if target_ms is None else "--draft-ms"
        raise click.UsageError(f"{first} needs {missing}")
    if target_ms == 0:
        raise click.UsageError("--target-ms must be above 0, got 0")
    for n, ms in options.verify_ms.items():
        if ms < target_ms and not options.force:
            raise click.UsageError(
                f"--verify-ms must not be below --target-ms {target_ms:g}, the time of one token, "
                f"got {n}={ms:g}: are both times of one machine? --force takes them all the same"
            )
    from simulator.cost.curves import CostModel

    return CostModel(
        target_seconds={n: ms / 1000 for n, ms in {1: target_ms, **options.verify_ms}.items()},
        draft_seconds=draft_ms / 1000,
        overhead_seconds=0.0 if options.overhead_ms is None else options.overhead_ms / 1000,
    )
