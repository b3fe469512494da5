"""Leviathan et al. 2023: Figures 2, 3, 4 and Table 1, drawn from Eq. 1 and Theorems 8 and 10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from figures.drawing import style
from figures.drawing.table import Curves, Drawing, Layout, curves, paper_table
from figures.published import LeviathanTable1, published
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.walltime import improvement_factor, operations_factor, optimal_gamma

GAMMAS = (1, 3, 5, 7, 10)
COSTS = (0.0, 0.01, 0.02, 0.05, 0.1)
MAX_GAMMA = 64


def compute_tokens() -> Curves:
    """Returns expected tokens per target call (Eq. 1) for each α, one curve per γ."""
    alphas = np.linspace(0.0, 1.0, 101)
    return curves("alpha", alphas, {f"gamma_{g}": expected_tokens(alphas, g) for g in GAMMAS})


def draw_tokens(data: Curves) -> style.Figure:
    """Returns Figure 2: one line per γ, labelled with its limit γ + 1."""
    figure, (axes,) = style.canvas(
        "Tokens per target call rise with α and are capped at γ + 1",
        source="Leviathan et al. 2023, Figure 2 and Eq. 1",
    )
    lines = [(f"γ = {gamma}", row) for gamma, row in zip(GAMMAS, data.lines.values(), strict=True)]
    labels = style.plot_lines(axes, data.x, lines)
    axes.set_xlim(0, 1)
    axes.set_ylim(0.8, max(row[-1] for _, row in lines) + 0.2)
    style.name_axes(axes, x="acceptance rate α", y="expected tokens per target call")
    style.label_right(axes, labels)
    return figure


def compute_optima() -> Curves:
    """Returns the γ that maximises Theorem 8 for α from 0 to 0.95, one curve per c.

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


def draw_optima(data: Curves) -> style.Figure:
    """Returns Figure 3: one staircase per c above 0."""
    figure, (axes,) = style.canvas(
        "The better and the cheaper the draft, the more tokens it should draft",
        source="Leviathan et al. 2023, Figure 3: γ maximising Theorem 8",
    )
    named = zip(COSTS, data.lines.values(), strict=True)
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


def compute_factors() -> Curves:
    """Returns Theorems 8 and 10 at c = ĉ = 0: factors over standard decoding by α and γ."""
    alphas = np.linspace(0.0, 1.0, 101)
    speed = {f"speed_gamma_{g}": improvement_factor(alphas, g, 0.0) for g in GAMMAS}
    operations = {f"operations_gamma_{g}": operations_factor(alphas, g, 0.0) for g in GAMMAS}
    return curves("alpha", alphas, speed | operations)


def draw_factors(data: Curves) -> style.Figure:
    """Returns Figure 4: speed-up on the left, operations on the right."""
    figure, (left, right) = style.canvas(
        "Speculation trades arithmetic for time: the lower α, the more operations for less speed",
        source="Leviathan et al. 2023, Figure 4: Theorems 8 and 10 at c = ĉ = 0",
        columns=2,
        width=9.6,
    )
    names = [f"γ = {gamma}" for gamma in GAMMAS]
    rows = list(data.lines.values())
    speed = style.plot_lines(left, data.x, list(zip(names, rows, strict=False)))
    operations = list(zip(names, rows[len(GAMMAS) :], strict=True))
    colours = [colour for _, _, colour in style.plot_lines(right, data.x, operations)]
    for axes, panel in ((left, "speed-up"), (right, "arithmetic operations")):
        style.name_axes(axes, x="acceptance rate α", y="factor over standard decoding", panel=panel)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, max(GAMMAS) + 2.2)
    style.label_right(left, speed)
    for (name, row), colour in zip(operations, colours, strict=True):
        style.note(right, name, (0.0, row[0]), offset=(4, 4), colour=colour)
    return figure


@dataclass(frozen=True, slots=True)
class Factors:
    """One row of Table 1: our factors by Theorems 10 and 8, and the paper's."""

    alpha: float
    gamma: int
    operations: float
    speed: float
    published_operations: float
    published_speed: float


def table1() -> list[Factors]:
    """Returns the six rows of Table 1, at c = ĉ = 0."""
    return [
        Factors(
            row.alpha, row.gamma, float(operations_factor(row.alpha, row.gamma, 0.0)),
            float(improvement_factor(row.alpha, row.gamma, 0.0)), row.operations, row.speed,
        )
        for row in published("leviathan-table1", LeviathanTable1)
    ]  # fmt: skip


def lay_table1(rows: Sequence[Factors]) -> Layout:
    """Returns the cells; numbers that round differently from the paper's are marked."""
    cells = []
    for row in rows:
        numbers = row.operations, row.published_operations, row.speed, row.published_speed
        cells.append((f"{row.alpha:g}", f"{row.gamma}", *(f"{each:.2f}×" for each in numbers)))
    return Layout(
        ("α", "γ", "operations", "operations, paper", "speed", "speed, paper"),
        tuple(cells),
        widths=(1, 1, 2, 2.6, 1.6, 1.8),
        width=7.2,
        height=2.9,
        marked=tuple(
            (i, column)
            for i, row in enumerate(cells)
            for column in (2, 4)
            if row[column] != row[column + 1]
        ),
    )


FIGURES: Mapping[str, Drawing] = {
    "leviathan-fig2": Drawing(compute_tokens, draw_tokens),
    "leviathan-fig3": Drawing(compute_optima, draw_optima),
    "leviathan-fig4": Drawing(compute_factors, draw_factors),
    "leviathan-table1": paper_table(
        table1,
        lay_table1,
        "Operations and speed over standard decoding, at c = ĉ = 0",
        lambda: "Leviathan et al. 2023, Table 1; ours by Theorems 10 and 8",
    ),
}
