"""Costs as times of steps and passes, of a bench, or of a server's runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.command import option, rare
from specplan.options.deployment import Loads
from specplan.options.kinds import CostKind
from specplan.options.runs import Runs
from specplan.options.values import callback, duration

if TYPE_CHECKING:
    from simulator.cost.cost import Cost


@callback
def verify_points(values: tuple[str, ...]) -> dict[int, float]:
    """Returns milliseconds by number of tokens N from texts N=MS; refuses an N that repeats."""
    points: dict[int, float] = {}
    for value in values:
        tokens, equals, milliseconds = value.partition("=")
        try:
            n, ms = int(tokens), float(milliseconds)
        except ValueError:
            equals = ""
        if not equals:
            raise ValueError(f"must be N=MS, such as 4=33, got {value!r}")
        if n < 2:
            raise ValueError(f"N must be at least 2 (1 is --target-ms), got {value!r}")
        if n in points:
            raise ValueError(f"N = {n} is given twice")
        if not (math.isfinite(ms) and ms > 0):
            raise ValueError(f"MS must be finite and above 0, got {value!r}")
        points[n] = ms
    return points


@dataclass(frozen=True)
class DraftTimes:
    """Times of a block, without verification.

    draft_ms: Time of a draft step, milliseconds.
    overhead_ms: Time of a block outside drafting and verification, milliseconds.
    """

    draft_ms: float = option(callback=duration)
    overhead_ms: float = rare(callback=duration, default=0.0)


@dataclass(frozen=True)
class Times(DraftTimes, CostKind, order=2, needs=("target_ms", "draft_ms")):
    """Times of target, draft and overhead.

    target_ms: Time of a target step, milliseconds.
    verify_ms: Time of a target pass over N tokens; repeat for more.  [default: --target-ms]
    force: Accept a --verify-ms below --target-ms, or below the time of fewer tokens.
    """

    target_ms: float = option(callback=duration)
    verify_ms: Mapping[int, float] | None = option(
        multiple=True, callback=verify_points, metavar="N=MS"
    )
    force: bool = rare(default=False)

    def price(self, max_gamma: int) -> tuple[Cost, ...]:
        from simulator.cost.curves import CostModel

        target_ms, points = self.target_ms, self.verify_ms or {}
        if target_ms == 0:
            raise click.UsageError("--target-ms must be above 0, got 0")
        for n, ms in points.items():
            if ms < target_ms and not self.force:
                raise click.UsageError(
                    f"--verify-ms must not be below --target-ms {target_ms:g}, the time of one "
                    f"token, got {n}={ms:g}: are both times of one machine? --force takes them all "
                    "the same"
                )
        for (fewer, less), (n, ms) in pairwise(sorted(points.items())):
            if ms < less and not self.force:
                raise click.UsageError(
                    "--verify-ms must not fall with the number of tokens, got "
                    f"{fewer}={less:g} and {n}={ms:g}: --force takes them all the same"
                )
        cost = CostModel(
            target_seconds={n: ms / 1000 for n, ms in {1: target_ms, **points}.items()},
            draft_seconds=self.draft_ms / 1000,
            overhead_seconds=self.overhead_ms / 1000,
        )
        return (cost,)


@dataclass(frozen=True)
class BenchFiles(
    DraftTimes,
    CostKind,
    order=3,
    needs=("bench_paths", "draft_ms"),
    instead={"draft_ms": ("draft_bench_paths",)},
):
    """Benchmark files of target and draft, and further times of a block.

    bench_paths: The target's times in a bench's file. It is written by llama-bench -o json,
      llama-batched-bench or vllm bench latency, and replaces --target-ms and --verify-ms; repeat
      for more files.
    draft_bench_paths: The draft's times from the same benches, in place of --draft-ms. Only the
      time of a pass over one token is used; repeat for more files.
    """

    bench_paths: tuple[Path, ...] = option(
        "--costs", type=click.Path(path_type=Path), multiple=True, metavar="FILE"
    )
    draft_bench_paths: tuple[Path, ...] = rare(
        "--draft-costs", type=click.Path(path_type=Path), multiple=True, metavar="FILE"
    )

    def price(self, max_gamma: int) -> tuple[Cost, ...]:
        from estimator.costs.benches import read_benches
        from simulator.cost.curves import CostModel

        drafts = self.draft_bench_paths
        cost = CostModel(
            target_seconds=read_benches(self.bench_paths),
            draft_seconds=read_benches(drafts)[1] if drafts else self.draft_ms / 1000,
            overhead_seconds=self.overhead_ms / 1000,
        )
        return (cost,)


@dataclass(frozen=True)
class OfRuns(Loads, Runs, CostKind, order=7, needs=("runs",)):
    """Costs from runs (--run), at the batch sizes to plan for; see each option's help."""

    def price(self, max_gamma: int) -> tuple[Cost, ...]:
        from simulator.cost.fitted.by_batch import costs_by_batch

        if self.context is not None:
            raise click.UsageError("--context needs --target-config: runs have their own context")
        return costs_by_batch(self.runs or (), self.batch)
