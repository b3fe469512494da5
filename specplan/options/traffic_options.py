"""The options of `specplan traffic`: server, load, simulation and answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.declared import option
from specplan.options.planning import Given
from specplan.options.ranges import callback, duration, numbers
from specplan.reports.output import warn, writable

if TYPE_CHECKING:
    from simulator.acceptance.acceptance import Acceptance
    from simulator.cost.pricing import Pricing
    from simulator.traffic.demand import Demand
    from simulator.traffic.pair import Pair
    from simulator.traffic.server import Prompts


@dataclass(frozen=True)
class Batching:
    """How the server batches requests; see each option's help."""

    slots: int = option(
        "--slots", type=int, default=256, metavar="N", help="Most sequences decoded together."
    )
    chunk_tokens: int = option(
        "--chunk-tokens",
        type=int,
        default=2048,
        metavar="N",
        advanced=True,
        help="Prompt tokens read in one step with decoding; 0: prompts are read apart.",
    )
    prompt_ms: float | None = option(
        "--prompt-ms",
        type=float,
        callback=duration,
        help="Time of reading one prompt.  [default: by the roofline]",
    )
    cache_tokens: float | None = option(
        "--cache-tokens",
        type=float,
        metavar="N",
        advanced=True,
        help="Tokens that the cache of all sequences holds.  [default: by the GPU's memory]",
    )
    gamma: int | None = option(
        "--gamma",
        type=int,
        metavar="G",
        help="Drafted tokens per block.  [default: the best at each rate]",
    )
    max_gamma: int = option(
        "--max-gamma",
        type=int,
        default=8,
        metavar="G",
        advanced=True,
        help="The largest gamma to consider.",
    )
    alpha_spread: float | None = option(
        "--alpha-spread",
        type=float,
        metavar="SD",
        advanced=True,
        help="Standard deviation of alpha between requests.  [default: that between the profile's "
        "prompts, else 0]",
    )

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
    """Arrivals and latency targets; see each option's help."""

    rate: tuple[float, ...] | None = option(
        "--rate",
        callback=numbers,
        metavar="R",
        help="Requests a second: 5, a list, or a range 1:20:1.  [default: the trace's]",
    )
    prompt_tokens: float | None = option(
        "--prompt-tokens", type=float, metavar="N", help="Mean length."
    )
    output_tokens: float | None = option(
        "--output-tokens", type=float, metavar="N", help="Mean length of outputs."
    )
    trace: Path | None = option(
        "--trace",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Requests in place of both: a CSV with time (s), prompt_tokens and output_tokens.",
    )
    burst: int | None = option(
        "--burst",
        type=int,
        metavar="N",
        advanced=True,
        help="Send N requests at once, and show the time until all are done, with no draft, a "
        "fixed gamma, and gamma by batch.",
    )
    slo: dict[str, float] | None = option(
        "--slo",
        callback=latency_targets,
        metavar="ttft=MS,tpot=MS",
        help="Latency targets, e.g. ttft=500,tpot=50 (milliseconds).",
    )


@dataclass(frozen=True)
class Simulation:
    """Whether and how arrivals are simulated; see each option's help."""

    simulate: bool = option(
        "--simulate",
        is_flag=True,
        default=False,
        help="Simulate arrivals, too: percentiles, and gamma by batch and by request.",
    )
    requests: int | None = option(
        "--requests",
        type=int,
        metavar="N",
        advanced=True,
        help="How many to simulate.  [default: 20000]",
    )
    seed: int | None = option(
        "--seed", type=int, metavar="S", advanced=True, help="Seed of the arrivals.  [default: 0]"
    )


@dataclass(frozen=True)
class TrafficAnswer(Given):
    """The file, the form and the figure of the answer; see each option's help."""

    figure: Path | None = option(
        "--figure",
        type=click.Path(path_type=Path),
        callback=writable,
        advanced=True,
        help="Draw latency against rate into this PNG, SVG or PDF file.",
    )


def pair_of(
    priced: Sequence[Pricing], accepting: Acceptance, demand: Demand, batching: Batching
) -> Pair:
    """Returns the server with and without speculation."""
    import numpy as np

    from simulator.traffic.blocks import Blocks
    from simulator.traffic.pair import Pair
    from simulator.traffic.server import Server, by_batch

    if not all(price.cost.in_seconds for price in priced):
        raise click.UsageError("--c has no times: give --target-ms and --draft-ms, or others")
    longest = _longest(priced, batching)
    gammas = np.arange(1, longest + 1)
    lengths = accepting.tokens_per_call(gammas)
    times = [
        [price.cost.baseline_seconds, *accepting.seconds_per_token(gammas, price.cost) * lengths]
        for price in priced
    ]
    batches = [price.batch for price in priced]
    if len(batches) == 1 and batching.slots > 1:
        warn(
            f"only batch {batches[0]} was measured; larger batches are assumed equally fast, which "
            "is too optimistic: give --target-config, a profile of 'measure --batch', or a --run "
            "of several batches"
        )
    with_draft, alone = _prompts(priced[0], demand, batching)
    spread = 0.0 if batching.alpha_spread is None else batching.alpha_spread
    server = Server(
        by_batch(batches, times, batching.slots),
        Blocks.of(accepting, longest, spread=spread),
        with_draft,
        _cache_tokens(priced) if batching.cache_tokens is None else batching.cache_tokens,
    )
    observed = gammas[: accepting.most_gamma].tolist()
    timed = [gamma for gamma in observed if gamma in priced[0].timed] or observed
    only = timed if batching.gamma is None else [batching.gamma]
    measured = {price.batch: price.own_gains for price in priced}
    known = all(price.posterior is None or price.posterior.calibrated for price in priced)
    return Pair(server, server.without(alone), demand, tuple(only), measured, known)


def _longest(priced: Sequence[Pricing], batching: Batching) -> int:
    """Returns the largest γ to consider."""
    from simulator.numerics.arguments import integer

    if batching.gamma is not None:
        return integer("gamma", batching.gamma, at_least=1)
    most = [price.max_gamma for price in priced if price.max_gamma is not None]
    return min([integer("max-gamma", batching.max_gamma, at_least=1), *most])


def _prompts(price: Pricing, demand: Demand, batching: Batching) -> tuple[Prompts, Prompts]:
    """Returns the times to read prompts, with the draft and without."""
    from simulator.traffic.server import Prompts

    chunk = batching.chunk_tokens or None
    step, tokens = price.cost.baseline_seconds, max(round(demand.prompt_tokens), 1)
    if batching.prompt_ms is not None:
        seconds = batching.prompt_ms / 1e3
        points = {1: min(step, seconds), tokens: seconds}
        return Prompts(points, chunk), Prompts(points, chunk)
    if price.prompt_seconds is None:
        raise click.UsageError("give --prompt-ms: these costs have no time of a prompt")
    places = sorted({1, *(max(1, tokens * part // 4) for part in (1, 2, 4, 8, 16))})
    found = [price.prompt_seconds(n) for n in places]
    alone, both = (dict(zip(places, each, strict=True)) for each in zip(*found, strict=True))
    return Prompts(both, chunk), Prompts(alone, chunk)


def _cache_tokens(priced: Sequence[Pricing]) -> float | None:
    """Returns how many tokens fit in the GPU's memory after the weights; None if not known."""
    first, last = priced[0].load, priced[-1].load
    if first is None or last is None or first is last or first.memory_gb is None:
        return None
    assert first.needed_gb is not None
    assert last.needed_gb is not None
    of_one = (last.needed_gb - first.needed_gb) / (priced[-1].batch - priced[0].batch)
    free = first.memory_gb - (first.needed_gb - priced[0].batch * of_one)
    return max(0.0, free / of_one * first.context)
