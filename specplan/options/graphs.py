"""The largest step that a server runs as a captured graph: its default, or as stated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from engines.kind import engine_kinds
from simulator.cost.wall import Wall
from specplan.options.declared import rare
from specplan.options.runs import Runs
from specplan.reports.output import warn

if TYPE_CHECKING:
    from engines.kind import EngineKind
    from simulator.cost.fitted.runs import Run
    from specplan.options.kinds import CostKind


@dataclass(frozen=True)
class Graphs:
    """Limits of captured graphs; see each option's help."""

    graph_tokens: int | None = rare(
        type=click.IntRange(min=0),
        metavar="N",
        help="Most tokens of a step in captured graphs; 0: no limit.  [default: vLLM's 512]",
    )
    graph_requests: int | None = rare(
        type=click.IntRange(min=0),
        metavar="N",
        help="Most requests of a step in captured graphs; 0: no limit.  [default: SGLang's 256, "
        "TensorRT-LLM's 128]",
    )

    def wall(self, engine: EngineKind | None) -> Wall | None:
        """Returns an engine's limit of captured graphs; None if it has none, or none is known."""
        own = None if engine is None else engine.wall
        if self.graph_tokens is not None and self.graph_requests is not None:
            raise click.UsageError("--graph-tokens cannot be combined with --graph-requests")
        for unit, most in (("tokens", self.graph_tokens), ("requests", self.graph_requests)):
            if most is None:
                continue
            if engine is not None and (own is None or own.unit != unit):
                limit = "no limit" if own is None else f"a limit in {own.unit} a step"
                raise click.UsageError(f"--graph-{unit} must fit {engine.title}, which has {limit}")
            flag = f"--graph-{unit}" if own is None else own.flag
            return Wall(unit, most, flag, "stated") if most > 0 else None  # type: ignore[arg-type]
        return own


def walled(
    costs: CostKind, graphs: Graphs, server: EngineKind | None = None
) -> tuple[CostKind, Wall | None]:
    """Returns the costs without runs beyond captured graphs, and the limit of captured graphs.

    server: the engine to use if the costs do not name one.
    """
    named = getattr(costs, "engine_family", None) or ""
    wall = graphs.wall(engine_kinds().get(named, server))
    if wall is not None and isinstance(costs, Runs) and costs.runs:
        costs = replace(costs, runs=_replayed(costs.runs, wall))  # type: ignore[call-arg]
    return costs, wall


def _replayed(runs: Sequence[Run], wall: Wall) -> tuple[Run, ...]:
    """Returns the runs that the costs are fitted to.

    Left out are runs whose step exceeds the limit of captured graphs while their baseline's step
    does not. A warning is printed for each of them, since it would spoil the fit.

    Raises click.UsageError if no run is left.
    """
    beyond = [run for run in runs if wall.crossed(run.load.batch, run.gamma)]
    if len(beyond) == len(runs):
        raise click.UsageError("--run must have one whose steps are in captured graphs")
    for run in beyond:
        size = wall.size(run.load.batch, run.gamma)
        warn(
            f"the run of gamma {run.gamma} at batch {run.load.batch} is left out of the costs: "
            f"{size} {wall.unit} a step are more than the {wall.most} of captured graphs "
            f"({wall.flag})"
        )
    return tuple(run for run in runs if run not in beyond)
