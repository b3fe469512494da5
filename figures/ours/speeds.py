"""Ours: tokens a second of a GPU against tokens a second of a user, with and without drafts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from figures import drawing
from figures.numbers import Numbers
from figures.ours.batch_size import default_load
from figures.ours.traffic import DEMAND, default_pair
from simulator.traffic.demand import Demand
from simulator.traffic.fleet import Replica
from simulator.traffic.pareto import Point, pareto_front

_SPEEDS = ("tokens_per_user", "tokens_per_gpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds(Numbers):
    """The points that no other deployment betters: a row each.

    demand: lengths of the requests.
    """

    demand: Demand


def compute() -> Speeds:
    """Returns the speeds of an 8B model on an H100, with a 1B draft and without a draft."""
    load, replica = default_load(), Replica("h100-sxm", 1, default_pair())
    fronts = (pareto_front([replica], speculating=way) for way in (True, False))
    return speeds(*fronts, caption=f"{load.caption} by public measurements, α = {load.alpha:g}")


def speeds(
    with_drafts: Sequence[Point], without: Sequence[Point], *, caption: str | None = None
) -> Speeds:
    """Returns two fronts of points as numbers; caption: their origin."""
    rows = [
        (
            "with speculation" if point.gamma else "without",
            point.replica.gpu,
            point.replica.gpus,
            point.replica.dp,
            point.gamma,
            point.tokens_per_user,
            point.tokens_per_gpu,
        )
        for point in (*with_drafts, *without)
    ]
    names = ("way", "gpu", "gpus", "dp", "gamma", "tokens_per_user", "tokens_per_gpu")
    demand = next((point.replica.pair.demand for point in (*with_drafts, *without)), DEMAND)
    return Speeds(names=names, cells=tuple(rows), caption=caption, demand=demand)


def draw(data: Speeds, caption: drawing.Caption) -> drawing.Figure:
    """Draws both fronts; each deployment has its own mark."""
    where = f"; {data.caption}" if data.caption else ""
    figure, (axes,) = caption.canvas(demand=data.demand, where=where)
    deployments = sorted({(point.gpu, point.gpus, point.dp) for point in data})
    for way, colour in (("with speculation", drawing.BLUE), ("without", drawing.VERMILION)):
        points = [point for point in data if point.way == way]
        users, gpus = ([getattr(p, name) for p in points] for name in _SPEEDS)
        axes.plot(users, gpus, color=colour, linewidth=2, label=way)
        for deployment, (mark, _) in zip(deployments, drawing.marks(), strict=False):
            marked = [p for p in points if (p.gpu, p.gpus, p.dp) == deployment]
            users, gpus = ([getattr(p, name) for p in marked] for name in _SPEEDS)
            axes.plot(users, gpus, mark, color=colour, markersize=5)
    for (gpu, gpus, dp), (mark, _) in zip(deployments, drawing.marks(), strict=False):
        label = f"{gpus} × {gpu.upper()}" + f", DP {dp}" * (dp > 1)
        axes.plot([], [], mark, color=drawing.INK, markersize=5, label=label)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=drawing.TEXT_SIZE - 0.5, labelcolor=drawing.INK)
    return figure
