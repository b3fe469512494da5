"""Times of the target and the draft from files that engines' benchmarks write."""

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import click

from simulator.cost.pricing import Pricing
from specplan.options.costs.times import DraftTimes
from specplan.options.declared import option, rare
from specplan.options.kinds import Background, CostKind


@dataclass(frozen=True)
class BenchFiles(DraftTimes, CostKind):
    """Benchmark files of target and draft, and further times of a block; see each option's help."""

    order = 3
    needs = ("bench_paths", "draft_ms")
    instead = MappingProxyType({"draft_ms": ("draft_bench_paths",)})

    bench_paths: tuple[Path, ...] = option(
        "--costs",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE",
        help="Times of the target in a bench's file. Written by llama-bench -o json, "
        "llama-batched-bench or vllm bench latency, in place of --target-ms and --verify-ms; "
        "repeat for more files.",
    )
    draft_bench_paths: tuple[Path, ...] = rare(
        "--draft-costs",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE",
        help="The draft's times from the same benches, of which a pass over one token counts, in "
        "place of --draft-ms; repeat for more files.",
    )

    def price(self, background: Background) -> tuple[Pricing, ...]:
        from estimator.costs.benches import read_benches
        from simulator.cost.curves import CostModel

        drafts = self.draft_bench_paths
        cost = CostModel(
            target_seconds=read_benches(self.bench_paths),
            draft_seconds=read_benches(drafts)[1] if drafts else self.draft_ms / 1000,
            overhead_seconds=self.overhead_ms / 1000,
        )
        return (Pricing(cost),)
