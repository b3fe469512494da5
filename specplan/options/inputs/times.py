"""Costs as times of steps and passes, of a bench, or of a server's runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.api.deployed import Loads
from specplan.options.declared import option, rare
from specplan.options.kinds import CostKind
from specplan.options.runs import RunsOptions
from specplan.options.values import callback, duration, in_milliseconds

if TYPE_CHECKING:
    from simulator.cost.costs import Costs


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


@callback
def target_time(value: float) -> float:
    """Returns a target step's time in milliseconds unchanged, if it is one."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"must be finite and at least 0, got {value:g}")
    return in_milliseconds(value)


@dataclass(frozen=True)
class DraftTimes:
    """Times of a block, without verification.

    draft_ms: Time of a draft step, milliseconds.
    overhead_ms: Time of a block outside drafting and verification, milliseconds.
    """

    draft_ms: float = option(callback=duration)
    overhead_ms: float = rare(callback=duration, default=0.0)


@dataclass(frozen=True)
class TimesOptions(DraftTimes, CostKind, order=2, needs=("target_ms", "draft_ms")):
    """Times of target, draft and overhead.

    target_ms: Time of a target step, milliseconds.
    verify_ms: Time of a target pass over N tokens; repeat for more.  [default: --target-ms]
    force: Accept a --verify-ms below --target-ms, or below the time of fewer tokens.
    """

    target_ms: float = option(callback=target_time)
    verify_ms: Mapping[int, float] | None = option(
        multiple=True, callback=verify_points, metavar="N=MS"
    )
    force: bool = rare(default=False)

    def make(self) -> Costs:
        from simulator.cost.costs import StatedCosts
        from simulator.cost.times import Times

        times = Times(
            self.target_ms,
            self.draft_ms,
            verify_ms=self.verify_ms,
            overhead_ms=self.overhead_ms,
            force=self.force,
        )
        return StatedCosts((times,))


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

    def make(self) -> Costs:
        from estimator.costs.benches import read_benches
        from simulator.cost.costs import StatedCosts
        from simulator.cost.curves import CostModel

        drafts = self.draft_bench_paths
        cost = CostModel(
            target_seconds=read_benches(self.bench_paths),
            draft_seconds=read_benches(drafts)[1] if drafts else self.draft_ms / 1000,
            overhead_seconds=self.overhead_ms / 1000,
        )
        return StatedCosts((cost,))


@dataclass(frozen=True)
class RunsCost(Loads, RunsOptions, CostKind, order=7, needs=("runs",)):
    """Costs from runs (--run), at the batch sizes to plan for; see each option's help."""

    def make(self) -> Costs:
        from specplan.api.runs import Runs

        return Runs(self.runs or (), batch=self.batch, context=self.context)
