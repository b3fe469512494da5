"""Ours: the best speed-up of Theorem 8 over (α, c), and the line where speculation stops paying."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from figures.drawing import style
from figures.drawing.table import Table
from simulator.choice.walltime import improvement_factor, optimal_gamma

MAX_GAMMA = 64
LEVELS = (1.1, 1.5, 2.0, 3.0, 5.0)


@dataclass(frozen=True, slots=True)
class SpeedupMap:
    """Best speed-up and its γ, rows by c, columns by α; 1 and 0 where no draft helps."""

    alphas: tuple[float, ...]
    costs: tuple[float, ...]
    speedup: tuple[tuple[float, ...], ...]
    gamma: tuple[tuple[int, ...], ...]

    def table(self) -> Table:
        return Table(
            ("alpha", "c", "optimal_gamma", "improvement_factor"),
            tuple(
                (alpha, cost, gamma, speedup)
                for cost, gammas, row in zip(self.costs, self.gamma, self.speedup, strict=True)
                for alpha, gamma, speedup in zip(self.alphas, gammas, row, strict=True)
            ),
        )


def compute() -> SpeedupMap:
    """Returns the map for α up to 0.95 and c from 0.01 to 1."""
    alphas = np.linspace(0.0, 0.95, 96)
    costs = np.geomspace(0.01, 1.0, 81)
    gamma = optimal_gamma(alphas, costs[:, np.newaxis], max_gamma=MAX_GAMMA)
    speedup = improvement_factor(alphas, gamma, costs[:, np.newaxis])
    speedups, gammas = (tuple(map(tuple, each.tolist())) for each in (speedup, gamma))
    return SpeedupMap(tuple(alphas.tolist()), tuple(costs.tolist()), speedups, gammas)


def draw(data: SpeedupMap) -> style.Figure:
    """Returns the drawing: a heat map with contours, the lowest at a speed-up of 1."""
    from matplotlib.colors import LogNorm

    figure, (axes,) = style.canvas(
        "The best speed-up there is: a draft pays as long as its α exceeds its cost",
        source="Leviathan et al. 2023, Theorem 8 at the best γ; the border α = c is Corollary 9",
        height=5.0,
    )
    speedup = np.array(data.speedup)
    axes.set_yscale("log")
    heat = axes.pcolormesh(
        data.alphas, data.costs, speedup, cmap="cividis", norm=LogNorm(1.0, float(speedup.max())),
        shading="gouraud", rasterized=True,
    )  # fmt: skip
    lines = axes.contour(
        data.alphas, data.costs, speedup, levels=LEVELS, colors="white", linewidths=1.2
    )
    axes.clabel(lines, fmt=lambda level: f"{level:g}×", fontsize=style.TEXT_SIZE)
    border = [alpha for alpha in data.alphas if data.costs[0] <= alpha <= data.costs[-1]]
    axes.plot(border, border, color=style.ORANGE, linewidth=2.5)
    axes.text(
        0.03, 0.7, "α = c: above this line no γ pays", color=style.ORANGE,
        fontsize=style.TEXT_SIZE, fontweight="bold",
    )  # fmt: skip
    axes.set_xlim(data.alphas[0], data.alphas[-1])
    style.tenths_on_x(axes)
    axes.set_ylim(data.costs[0], data.costs[-1])
    costs = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
    axes.set_yticks(costs, [f"{cost:g}" for cost in costs])
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
