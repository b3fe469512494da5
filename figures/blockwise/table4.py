"""Kim et al. 2024 (blockwise drafts), Table 4: block efficiency of rescored and parallel drafts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.blockwise.measured import (
    PAPER,
    Grid,
    draw_grid,
    efficiency,
    grid,
    said,
    variants,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("base", "4-gram", "neural", "parallel base", "parallel 4-gram", "oracle k=16")
PUBLISHED = {
    "LAMBADA": (3.12, 3.05, 3.08, 3.23, 3.29, 3.67),
    "SQuAD V1": (2.08, 2.07, 2.10, 2.18, 2.22, 2.45),
    "CNN/Daily": (1.74, 1.73, 1.73, 1.82, 1.83, 2.26),
    "SAMSum": (1.27, 1.29, 1.39, 1.37, 1.45, 1.95),
    "MultiNews": (1.10, 1.12, 1.25, 1.13, 1.22, 1.43),
    "XSUM": (1.13, 1.16, 1.23, 1.18, 1.26, 1.55),
    "NewsRoom": (1.08, 1.18, 1.29, 1.11, 1.31, 1.50),
}


def compute() -> Grid:
    """Returns the paper's block efficiencies (its neural column is of 61M weights), and ours."""
    return grid(COLUMNS, PUBLISHED, {name: efficiency(name) for name in COLUMNS})


def draw(data: Grid) -> Figure:
    """Returns the drawing."""
    gains = ", ".join(
        f"{name} {row['change_percent']:+.0f} % [{row['change_low']:+.0f}, "
        f"{row['change_high']:+.0f}]"
        for name, row in variants().items()
        if name in COLUMNS[1:5]
    )
    return draw_grid(
        data,
        title=f"Block efficiency over the heads' own drafts, ours: {gains}",
        source=f"{PAPER}, Table 4 (neural: 61M weights; parallel: 16 drafts). {said()}; neural: "
        "the embedded draft",
    )
