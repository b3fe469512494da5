"""Kim et al. 2024 (blockwise drafts), Table 10: block efficiency by the number of heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.blockwise.measured import PAPER, Grid, analysis, draw_grid, grid, said

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("3 heads", "6 heads", "9 heads")
PUBLISHED = {
    "LAMBADA": (1.79, 2.84, 3.12),
    "SQuAD V1": (1.53, 2.03, 2.08),
    "CNN/Daily": (1.60, 1.71, 1.74),
    "SAMSum": (1.18, 1.25, 1.27),
    "MultiNews": (1.08, 1.08, 1.10),
    "XSUM": (1.11, 1.12, 1.13),
    "NewsRoom": (1.07, 1.08, 1.08),
}


def compute() -> Grid:
    """Returns the paper's block efficiencies, and ours: of nine heads, only the first used."""
    ours = {
        f"{row['name']} heads": {
            "value": row["block_efficiency"], "low": row["low"], "high": row["high"]
        }
        for row in analysis()["by_heads"]
    }  # fmt: skip
    return grid(COLUMNS, PUBLISHED, ours)


def draw(data: Grid) -> Figure:
    """Returns the drawing."""
    gains = [data.ours(column).value for column in COLUMNS]
    return draw_grid(
        data,
        title="Block efficiency with 3, 6 and 9 heads: ours "
        + ", ".join(f"{value:.3f}" for value in gains),
        source=f"{PAPER}, Table 10 (models trained with so many heads). {said()}; ours are the "
        "first of nine heads, trained apart from one another on a frozen model",
        form=".3f",
        width=7.6,
    )
