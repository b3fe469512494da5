"""The options of `plan`, `observe` and `traffic`, without acceptance and cost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import click

from specplan.options.command import COUNT, option, rare
from specplan.options.expected import Expecting
from specplan.options.values import EngineName, Printed, Written, callback, duration, numbers
from specplan.reports.output import writable

_ADDRESS = re.compile(r"[\w.-]+:\d+(/.*)?")
# From servers' names of drafts to the kinds of `engines.kind.Drafted`.
DRAFT_KINDS = MappingProxyType(
    {
        "eagle3": "EAGLE-3",
        "mtp": "MTP",
        "dflash": "DFlash",
        "suffix": "suffix",
        "ngram": "n-gram",
        "draft-model": "model",
    }
)
# Drafters that copy, as --draft names them.
COPIES = MappingProxyType({"suffix": "suffix", "ngram": "lookup"})


@dataclass(frozen=True)
class DraftNamed:
    """Names of the models, the kind of draft, and the largest γ.

    target: The target's name. With --draft, c is checked against the sizes in both names.
    draft: The draft model's name, for --export. With --target, its size is used to check c.
    draft_kind: Kind of draft, without --draft-config. It selects the usual acceptance after the
      counted positions, and the method that --export names.
    max_gamma: The largest gamma to consider.
    """

    target: str | None = rare("--target", metavar="NAME")
    draft: str | None = option("--draft", metavar="NAME")
    draft_kind: str | None = option(type=click.Choice(tuple(DRAFT_KINDS)))
    max_gamma: int = rare(default=32, metavar="G")


@dataclass(frozen=True)
class Choice(DraftNamed):
    """Candidates and criteria of the choice of γ.

    c_hat: Operations of a draft step over operations of a target step.  [default: c]
    gamma: Evaluate this gamma.  [default: the best]
    near: Advise the smallest gamma that is at most this many per cent slower than the best.
    reads_again: The target reads accepted tokens again. Recurrent layers do so after a rejection.
    """

    c_hat: float | None = rare()
    gamma: int | None = option(metavar="G")
    near: float = rare(type=click.FloatRange(0, 100, max_open=True), default=1.0, metavar="PERCENT")
    reads_again: bool = option(default=False)


@dataclass(frozen=True)
class Graphs:
    """Limits of captured graphs.

    graph_tokens: Largest step in captured graphs, in tokens; 0: no limit.  [default: vLLM's 512]
    graph_requests: Largest step in captured graphs, in requests; 0: no limit.  [default: SGLang's
      256, TensorRT-LLM's 128]
    """

    graph_tokens: int | None = rare(type=click.IntRange(min=0), metavar="N")
    graph_requests: int | None = rare(type=click.IntRange(min=0), metavar="N")


@dataclass(frozen=True)
class StoppingOptions:
    """Thresholds and rule of drafts that end early.

    p_min: Also plan the confidence below which a draft ends. State thresholds, or auto for 0 to
      0.95; needs --profile. With a lookup on recorded texts: least number of matched tokens.
    stopping_rule: The rule of --p-min: llama.cpp, llama.cpp-older, transformers, product,
      calibrated.  [default: the rule of --export's server, else llama.cpp]
    """

    p_min: str | None = option(metavar="auto|P,…")
    stopping_rule: str | None = rare(metavar="RULE")


@dataclass(frozen=True)
class Answer(Written):
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


@dataclass(frozen=True)
class Followed(Sources):
    """Sources that are read at every interval.

    follow: Print a line every --interval until Ctrl-C.
    """

    follow: bool = option(default=False)


@dataclass(frozen=True)
class Observed(Sources, Printed, Expecting):
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


@dataclass(frozen=True)
class Batching:
    """How the server batches requests.

    slots: Largest number of sequences decoded together.
    chunk_tokens: Prompt tokens read in one decoding step; 0: prompts are read in separate steps.
    prompt_ms: Time to read one prompt, milliseconds.  [default: by the roofline]
    cache_tokens: Tokens that the cache of all sequences holds.  [default: by the GPU's memory]
    gamma: Drafted tokens per block.  [default: the best at each rate]
    max_gamma: The largest gamma to consider.
    alpha_spread: Standard deviation of alpha between requests.  [default: between the profile's
      prompts, else 0]
    """

    slots: int = option(default=256, metavar="N")
    chunk_tokens: int = rare(default=2048, metavar="N")
    prompt_ms: float | None = option(callback=duration)
    cache_tokens: float | None = rare(metavar="N")
    gamma: int | None = option(metavar="G")
    max_gamma: int = rare(default=8, metavar="G")
    alpha_spread: float | None = rare(metavar="SD")

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise click.UsageError(f"--slots must be at least 1, got {self.slots}")


@callback
def latency_targets(value: str) -> dict[str, float]:
    """Returns milliseconds by name from ttft=MS,tpot=MS."""
    found: dict[str, float] = {}
    for part in value.split(","):
        name, _, text = part.partition("=")
        try:
            milliseconds = float(text)
        except ValueError:
            milliseconds = 0.0
        if name not in ("ttft", "tpot") or name in found or not 0 < milliseconds < float("inf"):
            raise ValueError(f"must be ttft=MS, tpot=MS or both, above 0, got {part!r}")
        found[name] = milliseconds
    return found


@dataclass(frozen=True)
class Arrivals:
    """Arrivals and latency targets.

    rate: Requests per second: 5, a list, or a range 1:20:1.  [default: the trace's]
    prompt_tokens: Mean length of prompts, in tokens.
    output_tokens: Mean length of outputs, in tokens.
    trace: CSV of requests with time (s), prompt_tokens and output_tokens, in place of both means.
    burst: Send N requests at once, and show the time until all are done, with no draft, a fixed
      gamma, and gamma by batch.
    slo: Latency targets, e.g. ttft=500,tpot=50 (milliseconds).
    """

    rate: tuple[float, ...] | None = option(callback=numbers, metavar="R")
    prompt_tokens: float | None = option(metavar="N")
    output_tokens: float | None = option(metavar="N")
    trace: Path | None = option(metavar="FILE")
    burst: int | None = rare(metavar="N")
    slo: dict[str, float] | None = option(callback=latency_targets, metavar="ttft=MS,tpot=MS")


@dataclass(frozen=True)
class Simulation:
    """Whether and how arrivals are simulated, and what is drawn.

    simulate: Simulate arrivals, too. Shows percentiles, and gamma by batch and by request.
    requests: Number of simulated requests.  [default: 20000]
    seed: Seed of the arrivals.  [default: 0]
    figure: Draw latency against rate into this PNG, SVG or PDF file.
    """

    simulate: bool = option(default=False)
    requests: int | None = rare(metavar="N")
    seed: int | None = rare(metavar="S")
    figure: Path | None = rare(callback=writable)
