"""What arrives at a server and what it is promised: options of `specplan traffic`."""

from dataclasses import dataclass
from pathlib import Path

import click

from specplan.options.declared import option
from specplan.options.planning import Shown
from specplan.options.ranges import callback, numbers
from specplan.reports.output import Written, writable


@callback
def promised(value: str) -> dict[str, float]:
    """Returns milliseconds by name of ttft=MS,tpot=MS."""
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
class Load:
    """What arrives, and what it is promised; see each option's help."""

    rate: tuple[float, ...] | None = option(
        "--rate", callback=numbers, metavar="R",
        help="Requests a second: 5, a list, or a range 1:20:1.  [default: the trace's]",
    )
    prompt_tokens: float | None = option("--prompt-tokens", type=float, metavar="N", help="Mean.")
    output_tokens: float | None = option("--output-tokens", type=float, metavar="N", help="Mean.")
    trace: Path | None = option(
        "--trace", type=click.Path(path_type=Path), metavar="FILE",
        help="Requests in place of both: a CSV with time (s), prompt_tokens and output_tokens.",
    )
    slo: dict[str, float] | None = option(
        "--slo", callback=promised, metavar="ttft=MS,tpot=MS", help="What is promised."
    )


@dataclass(frozen=True)
class Simulation:
    """Whether and how arrivals are simulated; see each option's help."""

    simulate: bool = option(
        "--simulate", is_flag=True, default=False,
        help="Simulate arrivals, too: percentiles, promises kept, gamma by batch and by request.",
    )
    requests: int | None = option(
        "--requests", type=int, metavar="N", advanced=True,
        help="How many to simulate.  [default: 20000]",
    )
    seed: int | None = option(
        "--seed", type=int, metavar="S", advanced=True, help="Of these.  [default: 0]"
    )


@dataclass(frozen=True)
class Answer(Shown, Written):
    """Where the answer goes; see each option's help."""

    output: Path | None = option(
        "-o", "--output", type=click.Path(path_type=Path), callback=writable,
        help="Write the JSON object here, too.",
    )
    figure: Path | None = option(
        "--figure", type=click.Path(path_type=Path), callback=writable, advanced=True,
        help="Draw latency against rate into this PNG, SVG or PDF file.",
    )
