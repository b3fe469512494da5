"""Kim et al. 2024 (blockwise drafts), Table 8: the weight of the rescorer, tuned by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.blockwise.measured import PAPER, Grid, analysis, draw_grid, grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("neural", "4-gram")
PUBLISHED = {
    "LAMBADA": (0.1, 0.1),
    "SQuAD V1": (1.0, 0.75),
    "SAMSum": (5.0, 1.5),
    "CNN/Daily": (0.1, 0.1),
    "MultiNews": (5.0, 2.0),
    "XSUM": (1.5, 1.1),
    "NewsRoom": (5.0, 2.0),
}


def compute() -> Grid:
    """Returns the weights of the largest block efficiency, the paper's and ours."""
    tuning = analysis()["tuning"]
    return grid(
        COLUMNS, PUBLISHED, {name: {"value": tuning[name]["best_weight"]} for name in COLUMNS}
    )


def draw(data: Grid) -> Figure:
    """Returns the drawing."""
    tuning = analysis()["tuning"]
    reach = "; ".join(
        f"{name} {min(values):.3f} to {max(values):.3f}"
        for name, values in (
            (name, [row["block_efficiency"] for row in tuning[name]["rows"]]) for name in COLUMNS
        )
    )
    return draw_grid(
        data,
        title="The tuned weight of the rescorer beside the heads",
        source=f"{PAPER}, Table 8, grid 0.1 to 10 of its appendix E. Ours: on "
        f"{analysis()['tuning_texts']} texts; block efficiency there over the grid: {reach}",
        form="g",
        width=6.4,
    )
