"""The options of `specplan observe`: sources, intervals, and the form of the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from specplan.options.command import COUNT, option, rare
from specplan.options.plan_options import DraftNamed
from specplan.options.values import EngineName, Printed
from specplan.reports.output import writable

_ADDRESS = re.compile(r"[\w.-]+:\d+(/.*)?")


def addresses(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns the sources, with HOST:PORT turned into a URL unless a file has that name."""
    if values.count("-") > 1:
        raise click.BadParameter("- (stdin) must be given once, got 2")
    return tuple(
        f"http://{value}" if _ADDRESS.fullmatch(value) and not Path(value).exists() else value
        for value in values
    )


@dataclass(frozen=True)
class Sources(DraftNamed):
    """Metrics pages, logs and other files to read counts from.

    gamma: Drafted tokens per block, where the source does not have it.
    interval: Read twice, S seconds apart, and take what was counted between.
    timeout: Refuse an answer of a server that takes longer than S seconds in all.
    """

    sources: tuple[str, ...] = ()
    gamma: int | None = option(type=COUNT, metavar="G")
    interval: float | None = option(type=click.FloatRange(min=0, min_open=True), metavar="S")
    timeout: float = rare(type=click.FloatRange(min=0, min_open=True), default=30.0, metavar="S")


@dataclass(frozen=True)
class Followed(Sources):
    """Sources that are read at every interval.

    follow: Print a line every --interval until Ctrl-C.
    """

    follow: bool = option(default=False)


@dataclass(frozen=True)
class Observed(Sources, Printed):
    """Sources that are read once, and the form of the answer.

    since: An earlier scrape of the same server, to be subtracted; of several sources one each.
    draft_sampling: How the deployment drafts, for the profile; counters do not show it.  [default:
      argmax]
    output: Write a profile here, to plan with.
    server: Print only what sets the advised gamma there.
    """

    since: tuple[str, ...] = option(type=click.Path(), multiple=True, default=(), metavar="FILE")
    draft_sampling: Literal["argmax", "sampled"] | None = rare(
        type=click.Choice(["argmax", "sampled"])
    )
    output: Path | None = option("-o", "--output", callback=writable, metavar="FILE")
    server: str | None = option("--export", type=EngineName(lambda kind: kind.exports))

    def __post_init__(self) -> None:
        if self.since and self.interval is not None:
            raise click.UsageError("--interval cannot be combined with --since")
        if self.since and len(self.since) != len(self.sources):
            raise click.UsageError(
                f"--since must be given once for each source, got {len(self.since)} for "
                f"{len(self.sources)}"
            )
        if self.draft_sampling is not None and self.output is None:
            raise click.UsageError(
                "--draft-sampling needs --output, the profile that it is noted in"
            )
