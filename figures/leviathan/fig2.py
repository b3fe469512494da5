"""Leviathan et al. 2023, Figure 2: expected tokens per target call against α for several γ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from figures.drawing.table import Table
from simulator.acceptance.tokens import expected_tokens

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAMMAS = (1, 3, 5, 7, 10)


@dataclass(frozen=True, slots=True)
class Fig2:
    """Expected tokens at each α: tokens[i][j] for gammas[i] and alphas[j]."""

    alphas: tuple[float, ...]
    gammas: tuple[int, ...]
    tokens: tuple[tuple[float, ...], ...]

    def table(self) -> Table:
        columns = ("alpha", *(f"gamma_{gamma}" for gamma in self.gammas))
        return Table(columns, tuple(zip(self.alphas, *self.tokens, strict=True)))


def compute() -> Fig2:
    """Returns the curves of Eq. 1."""
    alphas = np.linspace(0.0, 1.0, 101)
    tokens = expected_tokens(alphas, np.array(GAMMAS)[:, np.newaxis])
    return Fig2(
        alphas=tuple(alphas.tolist()),
        gammas=GAMMAS,
        tokens=tuple(tuple(row) for row in tokens.tolist()),
    )


def draw(data: Fig2) -> Figure:
    """Returns the drawing: one line for each γ, labelled with the γ + 1 tokens it tends to."""
    from figures.drawing import style

    figure, (axes,) = style.canvas(
        "Tokens per target call rise with α and are capped at γ + 1",
        source="Leviathan et al. 2023, Figure 2 and Eq. 1",
    )
    lines = [(f"γ = {gamma}", row) for gamma, row in zip(data.gammas, data.tokens, strict=True)]
    labels = style.plot_lines(axes, data.alphas, lines)
    axes.set_xlim(0, 1)
    axes.set_ylim(0.8, max(row[-1] for row in data.tokens) + 0.2)
    style.name_axes(axes, x="acceptance rate α", y="expected tokens per target call")
    style.label_right(axes, labels)
    return figure
