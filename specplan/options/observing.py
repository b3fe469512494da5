"""What `specplan observe` reads, when, and what becomes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from specplan.options.costs.profile import Profiled
from specplan.options.declared import option
from specplan.options.draft_kind import DraftNamed
from specplan.options.kinds import Background, any_stated, chosen, cost_kinds, prices
from specplan.options.planning import Longest, Shown, read
from specplan.options.requests import fill, is_stated
from specplan.reports.output import writable

if TYPE_CHECKING:
    from simulator.cost.pricing import Pricing


_ADDRESS = re.compile(r"[\w.-]+:\d+(/.*)?")


def addresses(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns sources, HOST:PORT as a URL where no file has that name; their callback."""
    return tuple(
        f"http://{value}" if _ADDRESS.fullmatch(value) and not Path(value).exists() else value
        for value in values
    )


@dataclass(frozen=True)
class Sources(DraftNamed):
    """What is read; see each option's help."""

    sources: tuple[str, ...] = ()
    gamma: int | None = option(
        "--gamma",
        type=click.IntRange(min=1),
        metavar="G",
        help="The deployment's, where the source does not tell it.",
    )
    interval: float | None = option(
        "--interval",
        type=click.FloatRange(min=0, min_open=True),
        metavar="S",
        help="Read twice, S seconds apart, and take what was counted between.",
    )
    timeout: float = option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=30.0,
        metavar="S",
        advanced=True,
        help="Refuse an answer of a server that takes longer than S seconds in all.",
    )


@dataclass(frozen=True)
class Followed(Sources):
    """What is read again and again."""

    follow: bool = option(
        "--follow", is_flag=True, default=False, help="Print a line every --interval until Ctrl-C."
    )


@dataclass(frozen=True)
class Observed(Sources, Shown):
    """What is read once, and where the answer goes; see each option's help."""

    since: tuple[str, ...] = option(
        "--since",
        type=click.Path(),
        multiple=True,
        default=(),
        metavar="FILE",
        help="An earlier scrape of the same server, to be subtracted; of several sources one each.",
    )
    draft_sampling: Literal["argmax", "sampled"] | None = option(
        "--draft-sampling",
        type=click.Choice(["argmax", "sampled"]),
        advanced=True,
        help="How the deployment drafts, for the profile; its counters do not tell.  "
        "[default: argmax]",
    )
    output: Path | None = option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        callback=writable,
        metavar="FILE",
        help="Write a profile here, to plan with.",
    )


@dataclass(frozen=True)
class Asked:
    """What `specplan observe` is asked.

    reading: what is read; Observed, where the answer is one.
    max_gamma: the largest γ to plan.
    price: of blocks; None: what the sources tell of time, if anything.
    """

    reading: Followed | Observed
    max_gamma: int
    price: Pricing | None


def asked(ctx: click.Context) -> Asked:
    """Returns what the options of the command ask.

    Raises:
      click.UsageError: if options do not fit together.
      OSError, ValueError: if a file cannot be used, or a number is out of range.
    """
    follows = ctx.params["follow"]
    records: list[type] = [Followed if follows else Observed, Longest, Profiled]
    costing = None
    if not any_stated(cost_kinds(), ctx):
        if follows:
            require_planned(ctx, planned=False)
    else:
        costing = chosen(cost_kinds(), ctx, beside=("profile_path",), what="cost")
        records.append(costing)
    reading, longest, file, *costs = fill(ctx, records, way="--follow" if follows else "")
    if not follows:
        _require_fit(reading)
    if costing is None:
        return Asked(reading, longest.max_gamma, None)
    background = Background(read(file.profile_path), max_gamma=longest.max_gamma)
    found = prices(costs[0], background)
    if len(found) > 1:
        raise click.UsageError(f"observe takes one cost, got {len(found)}: state one c, one load")
    return Asked(reading, longest.max_gamma, found[0])


def require_planned(ctx: click.Context, *, planned: bool) -> None:
    """Raises a click.UsageError if --max-gamma is stated where nothing is planned."""
    if not planned and is_stated(ctx, "max_gamma"):
        raise click.UsageError("--max-gamma needs a cost, such as --c: nothing is planned")


def _require_fit(reading: Observed) -> None:
    if reading.since and reading.interval is not None:
        raise click.UsageError("--interval cannot be combined with --since")
    if reading.since and len(reading.since) != len(reading.sources):
        raise click.UsageError(
            f"--since must be given once for each source, got {len(reading.since)} for "
            f"{len(reading.sources)}"
        )
    if reading.draft_sampling is not None and reading.output is None:
        raise click.UsageError("--draft-sampling needs --output, the profile that it is noted in")
