"""Ours: gains from a cheaper drafter that speeds up the draft model (Leviathan et al. 2023, §6)."""

from __future__ import annotations

import numpy as np

from figures.drawing import style
from figures.drawing.table import Curves, columns_of
from simulator.acceptance.iid import Iid
from simulator.choice.gain import best_gamma, speed_up
from simulator.cost.cost import Cost, Ratio
from simulator.schemes.extensions import hierarchical_cost

ALPHA, MAX_GAMMA = 0.8, 16
# Acceptance of the cheap drafter's tokens by the draft model, and the time of such a token relative
# to a step of the draft model, typical of an n-gram drafter and a small model.
INNER_ALPHAS, INNER_C = (0.3, 0.5, 0.7), 0.02


def compute() -> Curves:
    """Returns the best speed-up for each c, first without and then with cheaper drafters.

    inner_alpha: acceptance rate of the cheap drafter's tokens; 0: no cheap drafter.
    c: time of a draft model's step over a target step.
    """
    ratios = np.linspace(0.02, 0.8, 40).tolist()
    points = [_point(c, Ratio(c), 0.0) for c in ratios]
    cheap = Ratio(INNER_C)
    for rate in INNER_ALPHAS:
        inner = best_gamma(Iid(rate), cheap, max_gamma=MAX_GAMMA)
        points += [
            _point(c, hierarchical_cost(Ratio(c), inner=cheap, alpha=rate, gamma=inner), rate)
            for c in ratios
        ]
    return columns_of("inner_alpha c gamma speedup", points)


def _point(c: float, cost: Cost, inner_alpha: float) -> tuple[float, float, int, float]:
    acceptance = Iid(ALPHA)
    gamma = best_gamma(acceptance, cost, max_gamma=MAX_GAMMA)
    return inner_alpha, c, gamma, float(speed_up(acceptance, cost, gamma))


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: a line without a cheap drafter, and one for each cheap drafter."""
    rates = list(dict.fromkeys(data.x))
    ratios = list(dict.fromkeys(data.lines["c"]))
    rows = np.reshape(data.lines["speedup"], (len(rates), len(ratios)))
    most = (rows / rows[0]).max() - 1
    figure, (axes,) = style.canvas(
        f"A cheaper drafter for the draft model adds up to {100 * most:.0f} % of speed",
        source=f"Ours: target and draft model of α = {ALPHA:g}, free verification; the cheap "
        f"drafter takes {INNER_C:g} of a draft step; the hierarchy of Leviathan et al. 2023, §6",
    )
    names = ["alone" if rate == 0 else f"inner α = {rate:g}" for rate in rates]
    labels = style.plot_lines(axes, ratios, list(zip(names, rows.tolist(), strict=True)))
    axes.axhline(1, color=style.INK, linewidth=1)
    axes.set_xlim(0, ratios[-1])
    style.name_axes(axes, x="time of a draft step over a target step, c", y="best speed-up")
    style.label_right(axes, labels)
    return figure
