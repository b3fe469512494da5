"""Leviathan et al. 2023, Figure 2: expected tokens per target call against α for several γ."""

from __future__ import annotations

import numpy as np

from figures.drawing import style
from figures.drawing.table import Curves, curves
from simulator.acceptance.tokens import expected_tokens

GAMMAS = (1, 3, 5, 7, 10)


def compute() -> Curves:
    """Returns the curves of Eq. 1: expected tokens at each α, one curve per γ."""
    alphas = np.linspace(0.0, 1.0, 101)
    return curves("alpha", alphas, {f"gamma_{g}": expected_tokens(alphas, g) for g in GAMMAS})


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: one line per γ, labelled with its limit γ + 1."""
    figure, (axes,) = style.canvas(
        "Tokens per target call rise with α and are capped at γ + 1",
        source="Leviathan et al. 2023, Figure 2 and Eq. 1",
    )
    lines = [(f"γ = {gamma}", row) for gamma, row in zip(GAMMAS, data.lines, strict=True)]
    labels = style.plot_lines(axes, data.x, lines)
    axes.set_xlim(0, 1)
    axes.set_ylim(0.8, max(row[-1] for row in data.lines) + 0.2)
    style.name_axes(axes, x="acceptance rate α", y="expected tokens per target call")
    style.label_right(axes, labels)
    return figure
