"""Ours: the optimal γ and its speed-up when each verified token costs time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from figures.drawing import style
from figures.drawing.table import Table
from simulator.acceptance.iid import Iid
from simulator.choice.gain import best_gamma, speed_up
from simulator.cost.cost import Cost
from simulator.cost.curves import CostModel
from simulator.cost.ratio import Ratio

C = 0.05
# Additional time of a target pass per token beyond the first: t_p(n) = 1 + v·(n - 1).
SLOPES = (0.0, 0.05, 0.1, 0.2, 0.4)
MAX_GAMMA = 32


@dataclass(frozen=True, slots=True)
class VerificationCost:
    """By slope v and α: the best γ, its speed-up, and the speed-up of Theorem 8's γ.

    naive: speed-up, at real prices, of the γ that is best with free verification.
    """

    alphas: tuple[float, ...]
    slopes: tuple[float, ...]
    gamma: tuple[tuple[int, ...], ...]
    speedup: tuple[tuple[float, ...], ...]
    naive: tuple[tuple[float, ...], ...]

    def table(self) -> Table:
        by_slope = zip(self.slopes, self.gamma, self.speedup, self.naive, strict=True)
        return Table(
            ("alpha", "verification_slope", "optimal_gamma", "improvement_factor",
             "improvement_factor_at_theorem8_gamma"),
            tuple(
                (alpha, slope, *values)
                for slope, *rows in by_slope
                for alpha, *values in zip(self.alphas, *rows, strict=True)
            ),
        )  # fmt: skip


def compute() -> VerificationCost:
    """Returns the optima for α up to 0.95."""
    alphas = np.linspace(0.0, 0.95, 96).tolist()

    def best(cost: Cost) -> tuple[int, ...]:
        return tuple(best_gamma(Iid(alpha), cost, max_gamma=MAX_GAMMA) for alpha in alphas)

    def factors(cost: Cost, chosen: tuple[int, ...]) -> tuple[float, ...]:
        pairs = zip(alphas, chosen, strict=True)
        return tuple(float(speed_up(Iid(alpha), cost, gamma)) for alpha, gamma in pairs)

    free = best(Ratio(C))
    gammas, speedups, naive = [], [], []
    for slope in SLOPES:
        cost = CostModel(target_seconds={1: 1.0, 2: 1.0 + slope}, draft_seconds=C)
        gammas.append(best(cost))
        speedups.append(factors(cost, gammas[-1]))
        naive.append(factors(cost, free))
    return VerificationCost(tuple(alphas), SLOPES, tuple(gammas), tuple(speedups), tuple(naive))


def draw(data: VerificationCost) -> style.Figure:
    """Returns the drawing: the best γ on the left, its speed-up on the right."""
    figure, (left, right) = style.canvas(
        "When verification is not free, draft less: the γ of Theorem 8 can lose where a shorter "
        "one gains",
        source=f"Ours: a target pass over n tokens takes 1 + v·(n − 1), a draft step c = {C:g}; "
        "v = 0 is Theorem 8 of Leviathan et al. 2023",
        columns=2,
        width=10.4,
    )
    names = [f"v = {slope:g}" for slope in data.slopes]
    gammas = style.plot_lines(left, data.alphas, list(zip(names, data.gamma, strict=True)))
    speedups = style.plot_lines(right, data.alphas, list(zip(names, data.speedup, strict=True)))
    for row, colour in zip(data.naive[1:], style.CYCLE[1:], strict=False):
        right.plot(data.alphas, row, color=colour, linewidth=1.2, linestyle=(0, (4, 2)))
    for axes in (left, right):
        axes.set_xlim(0, data.alphas[-1])
        style.tenths_on_x(axes)
    left.set_ylim(0, 1.05 * max(row[-1] for row in data.gamma))
    style.count_on(left.yaxis)
    right.set_yscale("log")
    ticks = (0.6, 1, 2, 4, 8)
    right.set_ylim(0.55, 1.2 * max(row[-1] for row in data.speedup))
    right.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    right.minorticks_off()
    right.axhline(1, color=style.INK, linewidth=1)
    dashed = "dashed: the γ that Theorem 8 would choose"
    style.note(right, dashed, (0.02, 0.04), within="axes fraction")
    x, panel = "acceptance rate α", "best γ (v: what a token adds to a target pass)"
    style.name_axes(left, x=x, y="drafted tokens per block", panel=panel)
    y = "factor over standard decoding (log scale)"
    style.name_axes(right, x=x, y=y, panel="speed-up")
    style.label_right(left, gammas)
    style.label_right(right, speedups)
    return figure
