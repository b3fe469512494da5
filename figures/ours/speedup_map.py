"""Ours: the best speed-up of Theorem 8 over (α, c), and the line where speculation stops paying."""

from __future__ import annotations

import numpy as np

from figures.drawing import style
from figures.drawing.table import Curves, curves
from simulator.choice.walltime import improvement_factor, optimal_gamma

MAX_GAMMA = 64
LEVELS = (1.1, 1.5, 2.0, 3.0, 5.0)


def compute() -> Curves:
    """Returns the best γ and its speed-up for α up to 0.95 and c from 0.01 to 1, by c, then by α.

    They are 0 and 1 where no draft helps.
    """
    by_cost, by_alpha = np.geomspace(0.01, 1.0, 81), np.linspace(0.0, 0.95, 96)
    costs, alphas = np.meshgrid(by_cost, by_alpha, indexing="ij")
    gamma = optimal_gamma(alphas, costs, max_gamma=MAX_GAMMA)
    factors = improvement_factor(alphas, gamma, costs)
    columns = {"c": costs, "optimal_gamma": gamma, "improvement_factor": factors}
    lines = {name: column.ravel() for name, column in columns.items()}
    return curves("alpha", alphas.ravel(), lines)


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: a heat map with contours, the lowest at a speed-up of 1."""
    from matplotlib.colors import LogNorm

    figure, (axes,) = style.canvas(
        "The best speed-up there is: a draft pays as long as its α exceeds its cost",
        source="Leviathan et al. 2023, Theorem 8 at the best γ; the border α = c is Corollary 9",
        height=5.0,
    )
    alphas, costs = sorted(set(data.x)), sorted(set(data.lines["c"]))
    speedup = np.array(data.lines["improvement_factor"]).reshape(len(costs), len(alphas))
    axes.set_yscale("log")
    heat = axes.pcolormesh(
        alphas, costs, speedup, cmap="cividis", norm=LogNorm(1.0, float(speedup.max())),
        shading="gouraud", rasterized=True,
    )  # fmt: skip
    lines = axes.contour(alphas, costs, speedup, levels=LEVELS, colors="white", linewidths=1.2)
    axes.clabel(lines, fmt=lambda level: f"{level:g}×", fontsize=style.TEXT_SIZE)
    border = [alpha for alpha in alphas if costs[0] <= alpha <= costs[-1]]
    axes.plot(border, border, color=style.ORANGE, linewidth=2.5)
    axes.text(
        0.03, 0.7, "α = c: above this line no γ pays", color=style.ORANGE,
        fontsize=style.TEXT_SIZE, fontweight="bold",
    )  # fmt: skip
    axes.set_xlim(alphas[0], alphas[-1])
    style.tenths_on_x(axes)
    axes.set_ylim(costs[0], costs[-1])
    ticks = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
    axes.set_yticks(ticks, [f"{cost:g}" for cost in ticks])
    axes.minorticks_off()
    axes.grid(visible=False)
    bar = figure.colorbar(heat, ax=axes, pad=0.02)
    factors = (1, 2, 3, 5, 10)
    bar.set_ticks(factors, labels=[f"{factor}×" for factor in factors])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=style.TEXT_SIZE - 0.5)
    bar.set_label("speed-up over standard decoding", fontsize=style.TEXT_SIZE, color=style.INK)
    y = "cost c of a draft step (target step = 1, log scale)"
    style.name_axes(axes, x="acceptance rate α", y=y)
    return figure
