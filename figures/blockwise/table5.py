"""Kim et al. 2024 (blockwise drafts), Table 5: where neural rescoring wins, and by what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.blockwise.measured import PAPER, Grid, analysis, draw_grid, grid, said

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    "% ties", "% wins", "wins repair", "wins regress", "% losses", "losses repair",
    "losses regress",
)  # fmt: skip
# Ties, wins and losses as printed, which the columns give as shares.
COUNTS = {
    "LAMBADA": (631.5e3, 5804, 9466),
    "SQuAD V1": (104.4e3, 1624, 6325),
    "CNN/Daily": (965.0e3, 5928, 17863),
    "SAMSum": (12.1e3, 2462, 867),
    "MultiNews": (1.45e6, 294856, 50209),
    "XSUM": (262.0e3, 36010, 6826),
    "NewsRoom": (251.3e3, 79710, 6492),
}
SHARES = {
    "LAMBADA": (27.95, 0.05, 2.01, 0.06),
    "SQuAD V1": (12.68, 8.13, 2.53, 12.28),
    "CNN/Daily": (23.20, 0.67, 3.19, 0.48),
    "SAMSum": (17.91, 23.56, 18.57, 16.72),
    "MultiNews": (44.41, 7.45, 22.21, 5.37),
    "XSUM": (29.87, 0.77, 4.19, 10.99),
    "NewsRoom": (66.23, 0.60, 2.85, 7.39),
}


def compute() -> Grid:
    """Returns the shares of blocks, the paper's and ours."""
    published = {}
    for dataset, counts in COUNTS.items():
        ties, wins, losses = (100 * count / sum(counts) for count in counts)
        of_wins, of_losses = SHARES[dataset][:2], SHARES[dataset][2:]
        published[dataset] = (ties, wins, *of_wins, losses, *of_losses)
    ours = analysis()["wins"]["neural"]
    whole = ours["ties"] + ours["wins"] + ours["losses"]
    values = (
        100 * ours["ties"] / whole,
        100 * ours["wins"] / whole,
        ours["wins_repair_percent"],
        ours["wins_regress_percent"],
        100 * ours["losses"] / whole,
        ours["losses_repair_percent"],
        ours["losses_regress_percent"],
    )
    return grid(
        COLUMNS,
        published,
        {column: {"value": value} for column, value in zip(COLUMNS, values, strict=True)},
    )


def draw(data: Grid) -> Figure:
    """Returns the drawing."""
    wins, losses = data.ours("% wins").value, data.ours("% losses").value
    repair = data.ours("wins repair").value
    return draw_grid(
        data,
        title=f"Neural rescoring: {wins:.0f} % of blocks stand further, {losses:.0f} % less far; "
        f"{repair:.0f} % of the wins end a repetition",
        source=f"{PAPER}, Table 5 (61M weights), counts as shares of all blocks: by how much of a "
        "draft stands; repair: the rescored draft no longer repeats a token, regress: it now does. "
        f"{said()}; neural: the embedded draft",
        form=".1f",
    )
