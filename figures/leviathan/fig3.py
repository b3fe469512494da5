"""Leviathan et al. 2023, Figure 3: the γ that maximises Theorem 8, against α for several c."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from figures.drawing.table import Table
from simulator.choice.optimum import optimal_gamma

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COSTS = (0.0, 0.01, 0.02, 0.05, 0.1)
MAX_GAMMA = 64


@dataclass(frozen=True, slots=True)
class Fig3:
    """Optimal γ at each α: gammas[i][j] for costs[i] and alphas[j].

    Infinite at c = 0 for every α > 0: there each further token is free (§3.6).
    """

    alphas: tuple[float, ...]
    costs: tuple[float, ...]
    gammas: tuple[tuple[float, ...], ...]

    def table(self) -> Table:
        columns = ("alpha", *(f"c_{cost:g}" for cost in self.costs))
        return Table(columns, tuple(zip(self.alphas, *self.gammas, strict=True)))


def compute() -> Fig3:
    """Returns the integer optima for α from 0 to 0.95."""
    alphas = np.linspace(0.0, 0.95, 191)
    costs = np.array(COSTS)[:, np.newaxis]
    free = (costs == 0) & (alphas > 0)
    gammas = np.where(free, np.inf, optimal_gamma(alphas, costs, max_gamma=MAX_GAMMA))
    return Fig3(
        alphas=tuple(alphas.tolist()),
        costs=COSTS,
        gammas=tuple(tuple(row) for row in gammas.tolist()),
    )


def draw(data: Fig3) -> Figure:
    """Returns the drawing: one staircase for each c."""
    from figures.drawing import style

    figure, (axes,) = style.canvas(
        "The better and the cheaper the draft, the more tokens it should draft",
        source="Leviathan et al. 2023, Figure 3: γ maximising Theorem 8",
    )
    lines = [
        (f"c = {cost:g}", row)
        for cost, row in zip(data.costs, data.gammas, strict=True)
        if cost > 0
    ]
    labels = style.plot_lines(axes, data.alphas, lines)
    axes.set_xlim(0, data.alphas[-1])
    style.tenths_on_x(axes)
    axes.set_ylim(0, 1.15 * max(row[-1] for _, row in lines))
    axes.annotate(
        "c = 0: no γ is too large,\nwhatever α > 0",
        (0.03, 0.88),
        xycoords="axes fraction",
        color=style.INK,
        fontsize=style.TEXT_SIZE,
    )
    style.count_on_y(axes)
    style.name_axes(axes, x="acceptance rate α", y="optimal γ (drafted tokens per block)")
    style.label_right(axes, labels)
    return figure
