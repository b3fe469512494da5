"""Checks costs, and completes them: captured graphs of the server, and the size of the draft."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from engines.kind import engine_kinds
from estimator.progress import notice
from simulator.cost.costs import Costs, StatedCosts
from simulator.cost.setting import Wall
from specplan.api.settings import DRAFT_KINDS, DraftNamed, Graphs

if TYPE_CHECKING:
    from engines.kind import EngineKind
    from simulator.acceptance.acceptance import Acceptance
    from simulator.cost.cost import Cost
    from simulator.cost.fitted.runs import Run

# Tokens per call may exceed their bounds by so much.
_ROUNDING = 1e-9


def require_sound(acceptances: Iterable[Acceptance], costs: Costs) -> None:
    """Raises ValueError if an acceptance or a stated cost, as of a user's class, is impossible.

    Checks draft lengths 1 to 4, and the time without speculation.
    """
    import numpy as np

    gammas = np.arange(1, 5)
    for acceptance in acceptances:
        with np.errstate(all="ignore"):
            tokens = np.asarray(acceptance.tokens_per_call(gammas)).tolist()
        for most, length in enumerate(tokens, start=2):
            if not 1 - _ROUNDING <= length <= most + _ROUNDING:
                raise ValueError(
                    f"acceptance must give 1 to {most} tokens per call at gamma {most - 1}, "
                    f"got {length:g}"
                )
    for cost in costs.costs if isinstance(costs, StatedCosts) else ():
        seconds = [cost.baseline_seconds, *np.asarray(cost.block_seconds(gammas)).tolist()]
        for gamma, time in enumerate(seconds):
            if not 0 < time < np.inf:
                place = f"at gamma {gamma}" if gamma > 0 else "without speculation"
                raise ValueError(f"cost must have a finite time above 0 {place}, got {time:g}")


def with_c_hat(costs: Iterable[Cost], c_hat: float | None) -> list[Cost]:
    """Returns the costs; those without a ĉ of their own get `c_hat`."""
    return [cost.with_setting(c_hat=c_hat) if cost.setting.c_hat is None else cost
            for cost in costs]  # fmt: skip


def zeroed(cost: Cost, engine: EngineKind | None) -> Cost:
    """Returns the cost with the reported price of drafting nothing, unless runs measured it."""
    reported = None if engine is None or engine.exports is None else engine.exports.zero
    if reported is None or cost.setting.zero is not None:
        return cost
    return cost.with_setting(zero=reported.at(cost.setting.batch))


def draft_class_of(draft_kind: str | None, costs: Sequence[Cost] = ()) -> str | None:
    """Returns the class of a draft, which selects the prior of acceptance rates; None: not known.

    draft_kind: the kind as a user states it; None: taken from `costs`.
    costs: if they were computed from a draft's configuration, they name its kind.
    """
    from estimator.model_shapes.head_kind import prior_of

    if draft_kind is not None:
        named = DRAFT_KINDS[draft_kind]
        return "n-gram" if named in ("suffix", "n-gram") else prior_of(named)
    load = costs[0].setting.load if costs else None
    return prior_of(load.draft_kind) if load is not None and load.modelled else None


def sized(
    cost: Cost,
    named: DraftNamed,
    runs: Sequence[Run],
    *,
    served: str | None,
    share: float | None = None,
) -> Cost:
    """Returns the cost with `draft_share`, draft's size / target's size, if it is known.

    named: names of draft and target, which may state their sizes.
    runs: measurements, which may state the share or the target's name.
    served, share: target's name and draft's share as a server or profile states them, if it does.
    """
    from simulator.cost.roofline.shapes import named_share

    target = named.target or next((run.model for run in runs if run.model is not None), served)
    known = [cost.setting.draft_share, named_share(target, named.draft), share]
    known += [run.draft_share for run in runs]
    return cost.with_setting(
        draft_share=next((share for share in known if share is not None), None)
    )


def walled(
    costs: Costs, graphs: Graphs, server: EngineKind | None = None
) -> tuple[Costs, Wall | None]:
    """Returns the costs without runs beyond captured graphs, and the limit of captured graphs.

    A run is beyond captured graphs if its own step exceeds the limit, but a step of the baseline
    does not. Such a run would spoil the fit, so it is left out with a warning.

    server: the engine to use if the costs do not name one.

    Raises ValueError if no run is left, or a stated limit does not fit the engine.
    """
    wall = _wall(graphs, engine_kinds().get(costs.server or "", server))
    if wall is None or not costs.runs:
        return costs, wall
    beyond = [run for run in costs.runs if wall.crossed(run.load.batch, run.gamma)]
    if len(beyond) == len(costs.runs):
        raise ValueError("`runs` must have one whose steps are in captured graphs")
    for run in beyond:
        size = wall.size(run.load.batch, run.gamma)
        slower = any(
            faster.load == run.load
            and faster.gamma == 0
            and faster.seconds_per_token < run.seconds_per_token
            for faster in costs.runs
        )
        notice(
            f"the run of gamma {run.gamma} at batch {run.load.batch} is left out of the costs: "
            f"{size} {wall.unit} a step are more than the {wall.most} of captured graphs "
            f"({wall.flag})" + ". So it is slower: lower K, or raise that limit" * slower
        )
    return costs.with_runs([run for run in costs.runs if run not in beyond]), wall


def _wall(graphs: Graphs, engine: EngineKind | None) -> Wall | None:
    """Returns the stated limit of captured graphs, or the engine's; None: no limit is known."""
    wall = None if engine is None else engine.wall
    if graphs.graph_tokens is not None and graphs.graph_requests is not None:
        raise ValueError("`graph_tokens` cannot be combined with `graph_requests`")
    for unit, most in (("tokens", graphs.graph_tokens), ("requests", graphs.graph_requests)):
        if most is None:
            continue
        if engine is not None and (wall is None or wall.unit != unit):
            limit = "no limit" if wall is None else f"a limit in {wall.unit} a step"
            raise ValueError(f"`graph_{unit}` must fit {engine.title}, which has {limit}")
        flag = f"--graph-{unit}" if wall is None else wall.flag
        return Wall(unit, most, flag, "stated") if most > 0 else None  # type: ignore[arg-type]
    return wall
