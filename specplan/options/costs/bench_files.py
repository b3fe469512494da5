"""The target's times from files that benches of engines write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from simulator.cost.pricing import Pricing
from specplan.options.cost import Background, CostKind
from specplan.options.costs.times import DraftTimes
from specplan.options.declared import option


@dataclass(frozen=True)
class Settings(DraftTimes):
    """The files, and the draft's times."""

    bench_paths: tuple[Path, ...] = option(
        "--costs",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE",
        help="The target's times from llama-bench -o json, llama-batched-bench or vllm bench "
        "latency, in place of --target-ms and --verify-ms; repeat for more files.",
    )


def _price(settings: Settings, _: Background) -> tuple[Pricing, ...]:
    from estimator.costs.benches import read_benches
    from simulator.cost.curves import CostModel

    cost = CostModel(
        target_seconds=read_benches(settings.bench_paths),
        draft_seconds=settings.draft_ms / 1000,
        overhead_seconds=settings.overhead_ms / 1000,
    )
    return (Pricing(cost),)


KIND = CostKind(order=3, settings=Settings, needs=("bench_paths", "draft_ms"), price=_price)
