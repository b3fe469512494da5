"""A plan as a drawing: the speed-up by draft length, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.choice.plan import Plan
from simulator.numerics.intervals import percent

if TYPE_CHECKING:
    from figures.drawing import Figure


def curve_plot(plan: Plan) -> Figure:
    """Returns a drawing of the speed-up by γ, with its interval (needs matplotlib)."""
    from figures import drawing

    curve, best, advised = plan.curve, plan.point(plan.optimal_gamma), plan.advised_gamma
    marked = {best.gamma: "best", advised: "advised"}
    if best.gamma == advised:
        marked = {best.gamma: "best and advised"}
    last = min(len(curve.gamma), max(8, 2 * max(marked)))
    title = f"Speed-up {best.improvement_factor:.2f} at gamma {best.gamma}"
    interval = f"; band: {percent()} interval" if curve.in_doubt else ""
    figure, (axes,) = drawing.Caption(
        title=title if best.gamma else "No draft length gains",
        source=f"specplan.plan{interval}",
        x="drafted tokens per block, gamma",
        y="speed-up",
    ).canvas()
    gammas, speeds = curve.gamma[:last], curve.speed_up[:last]
    if curve.in_doubt:
        axes.fill_between(gammas, curve.low[:last], curve.high[:last], color=drawing.PALE)
    axes.axhline(1.0, color=drawing.GREY, linewidth=1)
    drawing.note(axes, "no speculation", (last, 1.0), offset=(0, 4), align="right bottom")
    axes.plot(gammas, speeds, "o-", color=drawing.BLUE, markersize=4)
    for gamma in set(marked) - {0}:
        place = (gamma, float(speeds[gamma - 1]))
        axes.plot(*place, "D", color=drawing.VERMILION, markersize=8)
        drawing.note(axes, marked[gamma], place, offset=(0, 9), align="center bottom")
    axes.margins(y=0.15)
    drawing.count_on(axes.xaxis)
    return figure
