"""Kim et al. 2024 (blockwise drafts), Table 9: block efficiency by rescorer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.blockwise.measured import PAPER, Grid, analysis, draw_grid, efficiency, grid, said

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    "base", "2-gram", "3-gram", "4-gram", "neural-32M", "neural-61M", "neural-94M", "neural",
    "oracle k=2", "oracle k=16",
)  # fmt: skip
PUBLISHED = {
    "LAMBADA": (3.12, 3.06, 3.05, 3.05, 3.08, 3.10, 3.05, None, 3.22, 3.67),
    "SQuAD V1": (2.08, 2.09, 2.08, 2.07, 2.10, 2.10, 2.07, None, 2.16, 2.45),
    "CNN/Daily": (1.74, 1.73, 1.73, 1.73, 1.73, 1.73, 1.73, None, 1.84, 2.26),
    "SAMSum": (1.27, 1.31, 1.31, 1.29, 1.33, 1.39, 1.21, None, 1.23, 1.95),
    "MultiNews": (1.10, 1.13, 1.13, 1.12, 1.25, 1.25, 1.20, None, 1.13, 1.43),
    "XSUM": (1.13, 1.17, 1.17, 1.16, 1.18, 1.23, 1.17, None, 1.17, 1.55),
    "NewsRoom": (1.08, 1.20, 1.18, 1.18, 1.29, 1.29, 1.17, None, 1.15, 1.50),
}


def compute() -> Grid:
    """Returns the paper's block efficiencies, and ours."""
    names = ("base", "2-gram", "3-gram", "4-gram", "neural", "oracle k=16")
    two = next(row for row in analysis()["oracle"] if row["k"] == 2)
    ours = {name: efficiency(name) for name in names}
    ours["oracle k=2"] = {
        "value": two["block_efficiency"], "low": two["low"], "high": two["high"]
    }  # fmt: skip
    return grid(COLUMNS, PUBLISHED, ours)


def draw(data: Grid) -> Figure:
    """Returns the drawing."""
    base, best = data.ours("base").value, data.ours("oracle k=16").value
    return draw_grid(
        data,
        title=f"Block efficiency by rescorer: ours between {base:.2f} (heads alone) and "
        f"{best:.2f} (the best path there is)",
        source=f"{PAPER}, Table 9. {said()}; neural: the embedded draft",
        width=12.5,
    )
