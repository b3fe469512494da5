"""Kim et al. 2024 (blockwise drafts), Table 3: repetition in drafts before and after a 2-gram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.blockwise.measured import PAPER, Grid, draw_grid, grid, said, variants

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("% consecutive", "with 2-gram", "longest run", "run with 2-gram")
PUBLISHED = {
    "LAMBADA": (20.0, 10.7, 2.2, 1.8),
    "SQuAD V1": (75.5, 67.6, 6.6, 6.1),
    "CNN/Daily": (46.4, 21.9, 3.8, 2.5),
    "SAMSum": (29.9, 20.0, 3.1, 2.5),
    "MultiNews": (33.6, 14.7, 3.1, 2.1),
    "XSUM": (24.0, 9.4, 2.6, 1.7),
    "NewsRoom": (47.2, 32.1, 4.1, 3.3),
}


def compute() -> Grid:
    """Returns the paper's percentages and runs, and ours."""
    ways = variants()
    values = [
        ways[name][measure]
        for measure in ("consecutive_percent", "max_run")
        for name in ("base", "2-gram")
    ]
    ours = {column: {"value": value} for column, value in zip(COLUMNS, values, strict=True)}
    return grid(COLUMNS, PUBLISHED, ours)


def draw(data: Grid) -> Figure:
    """Returns the drawing."""
    before, after = (data.ours(column).value for column in COLUMNS[:2])
    return draw_grid(
        data,
        title=f"A 2-gram takes repetition from {before:.0f} % to {after:.0f} % of neighbouring "
        "drafted tokens",
        source=f"{PAPER}, Table 3: pairs of neighbours in a draft that are one token, and the mean "
        f"over blocks of the longest such run. {said()}",
        form=".1f",
        width=8.4,
    )
