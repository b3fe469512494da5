"""Leviathan et al. 2023, Figure 4: speed-up and operations against α by γ, at c = ĉ = 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from figures.drawing.table import Table
from simulator.choice.operations import operations_factor
from simulator.choice.walltime import improvement_factor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAMMAS = (1, 3, 5, 7, 10)


@dataclass(frozen=True, slots=True)
class Fig4:
    """Factors over standard decoding: speed[i][j], operations[i][j] for gammas[i], alphas[j]."""

    alphas: tuple[float, ...]
    gammas: tuple[int, ...]
    speed: tuple[tuple[float, ...], ...]
    operations: tuple[tuple[float, ...], ...]

    def table(self) -> Table:
        columns = (
            "alpha",
            *(f"speed_gamma_{gamma}" for gamma in self.gammas),
            *(f"operations_gamma_{gamma}" for gamma in self.gammas),
        )
        rows = tuple(zip(self.alphas, *self.speed, *self.operations, strict=True))
        return Table(columns, rows)


def compute() -> Fig4:
    """Returns Theorems 8 and 10 at c = ĉ = 0."""
    alphas = np.linspace(0.0, 1.0, 101)
    gammas = np.array(GAMMAS)[:, np.newaxis]
    return Fig4(
        alphas=tuple(alphas.tolist()),
        gammas=GAMMAS,
        speed=_rows(improvement_factor(alphas, gammas, 0.0)),
        operations=_rows(operations_factor(alphas, gammas, 0.0)),
    )


def _rows(values: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in values.tolist())


def draw(data: Fig4) -> Figure:
    """Returns the drawing: speed-up on the left, operations on the right."""
    from figures.drawing import style

    figure, (left, right) = style.canvas(
        "Speculation trades arithmetic for time: the lower α, the more operations for less speed",
        source="Leviathan et al. 2023, Figure 4: Theorems 8 and 10 at c = ĉ = 0",
        columns=2,
        width=9.6,
    )
    names = [f"γ = {gamma}" for gamma in data.gammas]
    speed = style.plot_lines(left, data.alphas, list(zip(names, data.speed, strict=True)))
    operations = list(zip(names, data.operations, strict=True))
    colours = [colour for _, _, colour in style.plot_lines(right, data.alphas, operations)]
    for axes, panel in ((left, "speed-up"), (right, "arithmetic operations")):
        style.name_axes(
            axes, x="acceptance rate α", y="factor over standard decoding", panel=panel
        )
        axes.set_xlim(0, 1)
        axes.set_ylim(0, max(data.gammas) + 2.2)
    style.label_right(left, speed)
    for (name, row), colour in zip(operations, colours, strict=True):
        right.annotate(
            name,
            (0.0, row[0]),
            xytext=(4, 4),
            textcoords="offset points",
            color=colour,
            fontsize=style.TEXT_SIZE,
        )
    return figure
