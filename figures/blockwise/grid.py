"""Tables by data set and column: the paper's rows, then our row with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from figures.blockwise.measured import OURS, analysis
from figures.drawing.table import Layout
from figures.published import published, published_grid
from simulator.numerics.intervals import percent
from studies.blockwise.records import Way, Wins

Ours = float | None | Way
"""A number of ours, or a drafting method with its block efficiency and interval."""


class PrintedWins(Wins, frozen=True):
    """A row of Table 5; its counts are numbers of blocks."""

    dataset: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a table: the paper's, or ours with its interval if there is one."""

    dataset: str
    column: str
    value: float | None
    low: float | None = None
    high: float | None = None


def grid(printed: Mapping[str, Mapping[str, float | None]], ours: Mapping[str, Ours]) -> list[Cell]:
    """Returns a table.

    printed: the paper's numbers by data set and column.
    ours: by column; a missing column is empty.
    """
    cells = [
        Cell(dataset, column, value)
        for dataset, values in printed.items()
        for column, value in values.items()
    ]
    for column in next(iter(printed.values())):
        own = ours.get(column)
        if isinstance(own, Way):
            cells.append(Cell(OURS, column, own.block_efficiency, own.low, own.high))
        else:
            cells.append(Cell(OURS, column, own))
    return cells


def efficiencies(table: str) -> list[Cell]:
    """Returns a table whose columns are drafting methods."""
    ours = analysis()
    ways = ours.ways | {way.name: way for way in ours.oracle}
    by_heads = {f"{way.name} heads": way for way in ours.by_heads}
    return grid(published_grid(table), {**ways, **by_heads})


def repetition() -> list[Cell]:
    """Returns Table 3: repetition in percent and run lengths, before and after a 2-gram."""
    base, rescored = analysis().ways["base"], analysis().ways["2-gram"]
    return grid(
        published_grid("blockwise-table3"),
        {
            "% consecutive": base.consecutive_percent,
            "with 2-gram": rescored.consecutive_percent,
            "longest run": base.max_run,
            "run with 2-gram": rescored.max_run,
        },
    )


def wins() -> list[Cell]:
    """Returns Table 5, with ties, wins and losses as percentages of blocks."""
    printed = published("blockwise-table5", PrintedWins)
    return grid({row.dataset: _shares(row) for row in printed}, _shares(analysis().wins["neural"]))


def _shares(row: Wins) -> dict[str, float | None]:
    whole = row.ties + row.wins + row.losses
    return {
        "% ties": 100 * row.ties / whole,
        "% wins": 100 * row.wins / whole,
        "wins repair": row.wins_repair_percent,
        "wins regress": row.wins_regress_percent,
        "% losses": 100 * row.losses / whole,
        "losses repair": row.losses_repair_percent,
        "losses regress": row.losses_regress_percent,
    }


def weights() -> list[Cell]:
    """Returns Table 8: the weights with the largest block efficiency."""
    tuned = {name: tuning.best_weight for name, tuning in analysis().tuning.items()}
    return grid(published_grid("blockwise-table8"), tuned)


def own(cells: Sequence[Cell], column: str) -> float:
    """Returns our own number in a column."""
    return next(
        cell.value
        for cell in cells
        if (cell.dataset, cell.column) == (OURS, column) and cell.value is not None
    )


def lay_grid(cells: Sequence[Cell], *, form: str = ".2f", width: float = 9.6) -> Layout:
    """Returns the rows of the paper, then ours in bold with its interval below.

    cells: the cells of one table.
    form: format of the numbers.
    width: width of the drawing in inches.
    """
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    columns = tuple(dict.fromkeys(cell.column for cell in cells))

    def text(value: float | None) -> str:
        return "" if value is None else f"{value:{form}}"

    rows = [
        (dataset, *(text(cell.value) for cell in cells if cell.dataset == dataset))
        for dataset in datasets
    ]
    ours = [cell for cell in cells if cell.dataset == OURS]
    if any(cell.low is not None for cell in ours):
        ends = ("" if c.low is None else f"{text(c.low)} to {text(c.high)}" for c in ours)
        rows.append((f"  {percent(analysis().confidence)}", *ends))
    return Layout(
        ("", *columns),
        tuple(rows),
        widths=(1.5, *(1.0 for _ in columns)),
        width=width,
        height=1.35 + 0.27 * (len(rows) + 1),
        marked=tuple((len(datasets) - 1, place) for place in range(len(columns) + 1)),
    )
