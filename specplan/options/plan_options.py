"""The options of `plan`, `observe` and `traffic`, without acceptance and cost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from specplan.api.settings import (
    DRAFT_KINDS,
    Arrivals,
    Batching,
    Choice,
    DraftNamed,
    Graphs,
    Simulation,
    StoppingSettings,
)
from specplan.options.answer import Paged, Pictured, Written
from specplan.options.declared import COUNT, DRAFTED, Whole, declare, option, rare
from specplan.options.expected import Expecting
from specplan.options.values import EngineName, callback, duration, numbers
from specplan.reports.output import writable

_MOST_PORT = 65535
_ADDRESS = re.compile(r"[\w.-]+:\d+(/.*)?")
declare(
    DraftNamed,
    target=rare("--target", metavar="NAME"),
    draft=option("--draft", metavar="NAME"),
    draft_kind=option(type=click.Choice(tuple(DRAFT_KINDS))),
    max_gamma=rare(type=DRAFTED, metavar="G"),
)
declare(
    Choice,
    c_hat=rare(),
    gamma=option(type=DRAFTED, metavar="G"),
    near=rare(type=click.FloatRange(0, 100, max_open=True), metavar="PERCENT"),
)
declare(
    Graphs,
    graph_tokens=rare(type=Whole(0), metavar="N"),
    graph_requests=rare(type=Whole(0), metavar="N"),
)
declare(StoppingSettings, p_min=option(metavar="auto|P,…"), stopping_rule=rare(metavar="RULE"))


@dataclass(frozen=True)
class Answer(Written, Pictured):
    """The file and the form of an answer, and the server to print flags for.

    server: Print only the flags of the advised gamma. With --gamma, flags of that gamma.
    """

    server: str | None = option("--export", type=EngineName(lambda kind: kind.exports))


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

    gamma: Drafted tokens per block, if the source does not state them.
    interval: Read twice, S seconds apart, and use the counts between both readings.
    timeout: Refuse a server whose complete answer takes longer than S seconds.
    """

    sources: tuple[str, ...] = ()
    gamma: int | None = option(type=COUNT, metavar="G")
    interval: float | None = option(type=click.FloatRange(min=0, min_open=True), metavar="S")
    timeout: float = rare(type=click.FloatRange(min=0, min_open=True), default=30.0, metavar="S")


def _address(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[str, int]:
    """Returns an address and a port; PORT without an address is of 127.0.0.1."""
    host, _, port = value.rpartition(":")
    if not port.isdecimal() or int(port) > _MOST_PORT:
        raise click.BadParameter(f"must be PORT or ADDRESS:PORT, got {value}")
    return host.strip("[]") or "127.0.0.1", int(port)


@dataclass(frozen=True)
class Followed(Sources, Paged):
    """Sources that are read at every interval.

    follow: Print a line every --interval until Ctrl-C. With --page the page is written each time.
    listen: With --follow, serve Prometheus metrics of acceptance, its drift and the advice at this
      PORT of 127.0.0.1, or at ADDRESS:PORT.
    """

    follow: bool = option(default=False)
    listen: tuple[str, int] | None = rare(callback=_address, metavar="PORT")


@dataclass(frozen=True)
class Observed(Sources, Pictured, Expecting):
    """Sources that are read once, and the form of the answer.

    since: File with an earlier scrape of the server, to be subtracted; one for each source.
    draft_sampling: How the deployment drafts, for the profile; counters do not show it.  [default:
      argmax]
    output: Write a profile here, to plan with.
    server: Print only this server's flags for the advised gamma.
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


declare(
    Batching,
    slots=option(metavar="N"),
    chunk_tokens=rare(metavar="N"),
    prompt_ms=option(callback=duration),
    cached_share=option(metavar="SHARE"),
    cache_tokens=rare(metavar="N"),
    gamma=option(metavar="G"),
    max_gamma=rare(type=DRAFTED, metavar="G"),
    alpha_spread=rare(metavar="SD"),
)


@callback
def latency_targets(value: str) -> dict[str, float]:
    """Returns milliseconds by name from ttft=MS,tpot=MS."""
    targets: dict[str, float] = {}
    for part in value.split(","):
        name, _, text = part.partition("=")
        try:
            milliseconds = float(text)
        except ValueError:
            milliseconds = 0.0
        if name not in ("ttft", "tpot") or name in targets or not 0 < milliseconds < float("inf"):
            raise ValueError(f"must be ttft=MS, tpot=MS or both, above 0, got {part!r}")
        targets[name] = milliseconds
    return targets


declare(
    Arrivals,
    rate=option(callback=numbers, metavar="R"),
    prompt_tokens=option(metavar="N"),
    output_tokens=option(metavar="N"),
    trace=option(metavar="FILE"),
    burst=rare(metavar="N"),
    targets=option("--slo", callback=latency_targets, metavar="ttft=MS,tpot=MS"),
    replicas=option(type=COUNT, metavar="N"),
)
declare(Simulation, requests=rare(metavar="N"), seed=rare(metavar="S"))


@dataclass(frozen=True)
class TrafficAnswer(Written, Pictured):
    """The file and the form of the answer."""
