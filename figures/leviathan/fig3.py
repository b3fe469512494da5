"""Leviathan et al. 2023, Figure 3: the γ that maximises Theorem 8, against α for several c."""

from __future__ import annotations

import numpy as np

from figures.drawing import style
from figures.drawing.table import Curves, curves
from simulator.choice.walltime import optimal_gamma

COSTS = (0.0, 0.01, 0.02, 0.05, 0.1)
MAX_GAMMA = 64


def compute() -> Curves:
    """Returns the integer optima for α from 0 to 0.95, by c.

    Infinite at c = 0 for every α > 0, because each further token is free (section 3.6).
    """
    alphas = np.linspace(0.0, 0.95, 191)
    best = {
        f"c_{cost:g}": np.where(
            (cost == 0) & (alphas > 0), np.inf, optimal_gamma(alphas, cost, max_gamma=MAX_GAMMA)
        )
        for cost in COSTS
    }
    return curves("alpha", alphas, best)


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: one staircase for each c."""
    figure, (axes,) = style.canvas(
        "The better and the cheaper the draft, the more tokens it should draft",
        source="Leviathan et al. 2023, Figure 3: γ maximising Theorem 8",
    )
    named = zip(COSTS, data.lines, strict=True)
    lines = [(f"c = {cost:g}", row) for cost, row in named if cost > 0]
    labels = style.plot_lines(axes, data.x, lines)
    axes.set_xlim(0, data.x[-1])
    style.tenths_on_x(axes)
    axes.set_ylim(0, 1.15 * max(row[-1] for _, row in lines))
    no_limit = "c = 0: no γ is too large,\nfor any α > 0"
    style.note(axes, no_limit, (0.03, 0.88), within="axes fraction")
    style.count_on(axes.yaxis)
    style.name_axes(axes, x="acceptance rate α", y="optimal γ (drafted tokens per block)")
    style.label_right(axes, labels)
    return figure
