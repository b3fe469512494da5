"""Ours: the optimal γ and its speed-up when each verified token costs time."""

from __future__ import annotations

import numpy as np

from figures.drawing import style
from figures.drawing.table import Curves, columns_of
from simulator.acceptance.iid import Iid
from simulator.choice.gain import best_gamma, speed_up
from simulator.cost.cost import Ratio
from simulator.cost.curves import CostModel

C = 0.05
# Additional time of a target pass per token beyond the first: t_p(n) = 1 + v·(n - 1).
SLOPES = (0.0, 0.05, 0.1, 0.2, 0.4)
MAX_GAMMA = 32


def compute() -> Curves:
    """Returns the best γ, its speed-up, and the speed-up of Theorem 8's γ, by slope, then by α.

    Theorem 8 of Leviathan et al. 2023 assumes that verification is free.
    """
    laws = [Iid(alpha) for alpha in np.linspace(0.0, 0.95, 96).tolist()]
    free = [best_gamma(law, Ratio(C), max_gamma=MAX_GAMMA) for law in laws]
    points = []
    for slope in SLOPES:
        cost = CostModel(target_seconds={1: 1.0, 2: 1.0 + slope}, draft_seconds=C)
        for law, of_theorem8 in zip(laws, free, strict=True):
            gamma = best_gamma(law, cost, max_gamma=MAX_GAMMA)
            factors = speed_up(law, cost, (gamma, of_theorem8)).tolist()
            points.append((law.alpha, slope, gamma, *factors))
    names = "verification_slope optimal_gamma improvement_factor"
    return columns_of(f"alpha {names} improvement_factor_at_theorem8_gamma", points)


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: the best γ on the left, its speed-up on the right."""
    figure, (left, right) = style.canvas(
        "When verification is not free, draft less: the γ of Theorem 8 can lose where a shorter "
        "one gains",
        source=f"Ours: a target pass over n tokens takes 1 + v·(n − 1), a draft step c = {C:g}; "
        "v = 0 is Theorem 8 of Leviathan et al. 2023",
        columns=2,
        width=10.4,
    )
    names = [f"v = {slope:g}" for slope in SLOPES]
    count = len(data.x) // len(SLOPES)

    def rows(name: str) -> list[tuple[float, ...]]:
        return [data.lines[name][at * count : (at + 1) * count] for at in range(len(SLOPES))]

    alphas = data.x[:count]
    best = list(zip(names, rows("optimal_gamma"), strict=True))
    factors = list(zip(names, rows("improvement_factor"), strict=True))
    gammas = style.plot_lines(left, alphas, best)
    speedups = style.plot_lines(right, alphas, factors)
    at_theorem8 = zip(rows("improvement_factor_at_theorem8_gamma"), style.CYCLE, strict=False)
    for dashed, colour in list(at_theorem8)[1:]:
        right.plot(alphas, dashed, color=colour, linewidth=1.2, linestyle=(0, (4, 2)))
    for axes in (left, right):
        axes.set_xlim(0, alphas[-1])
        style.tenths_on_x(axes)
    left.set_ylim(0, 1.05 * max(row[-1] for _, row in best))
    style.count_on(left.yaxis)
    right.set_yscale("log")
    ticks = (0.6, 1, 2, 4, 8)
    right.set_ylim(0.55, 1.2 * max(row[-1] for _, row in factors))
    right.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    right.minorticks_off()
    right.axhline(1, color=style.INK, linewidth=1)
    legend = "dashed: the γ that Theorem 8 would choose"
    style.note(right, legend, (0.02, 0.04), within="axes fraction")
    x, panel = "acceptance rate α", "best γ (v: what a token adds to a target pass)"
    style.name_axes(left, x=x, y="drafted tokens per block", panel=panel)
    y = "factor over standard decoding (log scale)"
    style.name_axes(right, x=x, y=y, panel="speed-up")
    style.label_right(left, gammas)
    style.label_right(right, speedups)
    return figure
