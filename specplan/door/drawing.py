"""The drawing of a plan: speed-up by draft length with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.drawing import style

if TYPE_CHECKING:
    from simulator.choice.curve import Curve

_LEAST = 8


def draw(curve: Curve, *, best: int, advised: int) -> style.Figure:
    """Returns a drawing of a plan's curve; best and advised γ are marked, 0 is none."""
    last = min(len(curve.gamma), max(_LEAST, 2 * best, 2 * advised))
    gammas, speeds = curve.gamma[:last], curve.speed_up[:last]
    title = "No draft length gains"
    if best > 0:
        title = f"Speed-up {speeds[best - 1]:.2f} at gamma {best}"
    interval = "; band: 90 % interval" if curve.in_doubt else ""
    figure, (axes,) = style.canvas(title, source=f"specplan.plan{interval}")
    if curve.in_doubt:
        axes.fill_between(
            gammas, curve.low[:last], curve.high[:last], color=style.SKY, alpha=0.3, linewidth=0
        )
    axes.axhline(1.0, color=style.GREY, linewidth=1)
    style.note(
        axes, "no speculation", (float(gammas[-1]), 1.0), offset=(0, 4), align="right bottom"
    )
    axes.plot(gammas, speeds, "o-", color=style.BLUE, markersize=4)
    for name, gamma in {"best": best, "advised": advised}.items():
        if gamma > 0 and not (name == "advised" and advised == best):
            both = name == "best" and advised == best
            place = (gamma, float(speeds[gamma - 1]))
            axes.plot(*place, "D", color=style.VERMILION, markersize=8)
            label = "best and advised" if both else name
            style.note(axes, label, place, offset=(0, 9), align="center bottom")
    axes.margins(y=0.15)
    style.count_on_x(axes)
    style.name_axes(axes, x="drafted tokens per block, gamma", y="speed-up over no speculation")
    return figure
