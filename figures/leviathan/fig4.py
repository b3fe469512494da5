"""Leviathan et al. 2023, Figure 4: speed-up and operations against α by γ, at c = ĉ = 0."""

from __future__ import annotations

import numpy as np

from figures.drawing import style
from figures.drawing.table import Curves, curves
from simulator.choice.walltime import improvement_factor, operations_factor

GAMMAS = (1, 3, 5, 7, 10)


def compute() -> Curves:
    """Returns Theorems 8 and 10 at c = ĉ = 0: factors over standard decoding by γ."""
    alphas = np.linspace(0.0, 1.0, 101)
    speed = {f"speed_gamma_{g}": improvement_factor(alphas, g, 0.0) for g in GAMMAS}
    operations = {f"operations_gamma_{g}": operations_factor(alphas, g, 0.0) for g in GAMMAS}
    return curves("alpha", alphas, speed | operations)


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: speed-up on the left, operations on the right."""
    figure, (left, right) = style.canvas(
        "Speculation trades arithmetic for time: the lower α, the more operations for less speed",
        source="Leviathan et al. 2023, Figure 4: Theorems 8 and 10 at c = ĉ = 0",
        columns=2,
        width=9.6,
    )
    names = [f"γ = {gamma}" for gamma in GAMMAS]
    speed = style.plot_lines(left, data.x, list(zip(names, data.lines, strict=False)))
    operations = list(zip(names, data.lines[len(GAMMAS) :], strict=True))
    colours = [colour for _, _, colour in style.plot_lines(right, data.x, operations)]
    for axes, panel in ((left, "speed-up"), (right, "arithmetic operations")):
        style.name_axes(axes, x="acceptance rate α", y="factor over standard decoding", panel=panel)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, max(GAMMAS) + 2.2)
    style.label_right(left, speed)
    for (name, row), colour in zip(operations, colours, strict=True):
        style.note(right, name, (0.0, row[0]), offset=(4, 4), colour=colour)
    return figure
