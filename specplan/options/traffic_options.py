"""The options of `specplan traffic`: server, load, simulation and answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from specplan.options.command import option, rare
from specplan.options.values import callback, duration, numbers
from specplan.reports.output import writable


@dataclass(frozen=True)
class Batching:
    """How the server batches requests.

    slots: Most sequences decoded together.
    chunk_tokens: Prompt tokens read in one step with decoding; 0: prompts are read apart.
    prompt_ms: Time of reading one prompt.  [default: by the roofline]
    cache_tokens: Tokens that the cache of all sequences holds.  [default: by the GPU's memory]
    gamma: Drafted tokens per block.  [default: the best at each rate]
    max_gamma: The largest gamma to consider.
    alpha_spread: Standard deviation of alpha between requests.  [default: that between the
      profile's prompts, else 0]
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

    rate: Requests a second: 5, a list, or a range 1:20:1.  [default: the trace's]
    prompt_tokens: Mean length.
    output_tokens: Mean length of outputs.
    trace: Requests in place of both: a CSV with time (s), prompt_tokens and output_tokens.
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

    simulate: Simulate arrivals, too: percentiles, and gamma by batch and by request.
    requests: How many to simulate.  [default: 20000]
    seed: Seed of the arrivals.  [default: 0]
    figure: Draw latency against rate into this PNG, SVG or PDF file.
    """

    simulate: bool = option(default=False)
    requests: int | None = rare(metavar="N")
    seed: int | None = rare(metavar="S")
    figure: Path | None = rare(callback=writable)
