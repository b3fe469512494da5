"""Leviathan et al. 2023, Table 1: operations and speed for six pairs of α and γ, c = ĉ = 0."""

from collections.abc import Sequence
from dataclasses import dataclass

from figures.drawing.table import Layout
from figures.published import LeviathanTable1, published
from simulator.choice.walltime import improvement_factor, operations_factor


@dataclass(frozen=True, slots=True)
class Factors:
    """One setting: our factors by Theorems 10 and 8, and the paper's."""

    alpha: float
    gamma: int
    operations: float
    speed: float
    published_operations: float
    published_speed: float


def factors() -> list[Factors]:
    """Returns the six rows."""
    return [
        Factors(
            row.alpha, row.gamma, float(operations_factor(row.alpha, row.gamma, 0.0)),
            float(improvement_factor(row.alpha, row.gamma, 0.0)), row.operations, row.speed,
        )
        for row in published("leviathan-table1", LeviathanTable1)
    ]  # fmt: skip


def lay_factors(rows: Sequence[Factors]) -> Layout:
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
