"""Leviathan et al. 2023, Table 1: operations and speed for six pairs of α and γ, c = ĉ = 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.drawing.table import Table, table_of
from simulator.choice.operations import operations_factor
from simulator.choice.walltime import improvement_factor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# α, γ, operations, speed as printed.
PUBLISHED = (
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One setting: ours by Theorems 10 and 8, and what the paper prints."""

    alpha: float
    gamma: int
    operations: float
    speed: float
    published_operations: float
    published_speed: float


@dataclass(frozen=True, slots=True)
class Table1:
    """All rows."""

    rows: tuple[Row, ...]

    def table(self) -> Table:
        return table_of(self.rows)


def compute() -> Table1:
    """Returns the six rows."""
    return Table1(
        tuple(
            Row(
                alpha=alpha,
                gamma=gamma,
                operations=float(operations_factor(alpha, gamma, 0.0)),
                speed=float(improvement_factor(alpha, gamma, 0.0)),
                published_operations=operations,
                published_speed=speed,
            )
            for alpha, gamma, operations, speed in PUBLISHED
        )
    )


def draw(data: Table1) -> Figure:
    """Returns the drawing: the table, a number that rounds differently from the paper's marked."""
    from figures.drawing import style

    figure, (axes,) = style.canvas(
        "Operations and speed over standard decoding, at c = ĉ = 0",
        source="Leviathan et al. 2023, Table 1; ours by Theorems 10 and 8",
        height=2.9,
    )
    cells = [
        (
            f"{row.alpha:g}",
            f"{row.gamma}",
            f"{row.operations:.2f}×",
            f"{row.published_operations:.2f}×",
            f"{row.speed:.2f}×",
            f"{row.published_speed:.2f}×",
        )
        for row in data.rows
    ]
    style.draw_table(
        axes,
        ("α", "γ", "operations", "operations, paper", "speed", "speed, paper"),
        cells,
        marked=[
            (i, column)
            for i, row in enumerate(cells)
            for column in (2, 4)
            if row[column] != row[column + 1]
        ],
        widths=(1, 1, 2, 2.6, 1.6, 1.8),
    )
    return figure
