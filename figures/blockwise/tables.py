"""Kim et al. 2024 (blockwise drafts), Tables 3 to 5 and 8 to 10: the paper's rows, then ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from figures import drawing
from figures.blockwise.measured import (
    OURS,
    PAPER,
    analysis,
    efficiencies,
    own,
    repetition,
    said,
    weights,
    wins,
)
from figures.numbers import Numbers
from simulator.numerics.intervals import percent

_COMPARED = ("4-gram", "neural", "parallel base", "parallel 4-gram")


def draw_grid(
    cells: Numbers,
    *,
    title: str | Callable[[Numbers], str],
    source: Callable[[], str],
    form: str = ".2f",
    width: float = 9.6,
) -> drawing.Figure:
    """Returns a table with the rows of the paper, then ours in bold with its interval below.

    title: a function of the cells if it contains numbers.
    form: format of the numbers.
    width: width of the drawing in inches.
    """
    columns = cells.distinct("column")

    def texts(values: tuple[float | None, ...]) -> list[str]:
        return ["" if value is None else f"{value:{form}}" for value in values]

    datasets = cells.distinct("dataset")
    rows = [(dataset, *texts(cells.where(dataset=dataset)["value"])) for dataset in datasets]
    ours = cells.where(dataset=OURS)
    if any(low is not None for low in ours["low"]):
        ends = zip(texts(ours["low"]), texts(ours["high"]), strict=True)
        intervals = (f"{low} to {high}" if low else "" for low, high in ends)
        rows.append((f"  {percent(analysis().confidence)}", *intervals))
    return drawing.draw_table(
        title if isinstance(title, str) else title(cells),
        source=f"{PAPER}, {source()}",
        heading=("", *columns),
        cells=rows,
        widths=(1.5, *(1.0 for _ in columns)),
        width=width,
        height=1.35 + 0.27 * (len(rows) + 1),
        marked=[(len(datasets) - 1, place) for place in range(len(columns) + 1)],
    )


def _gains(_: Numbers) -> str:
    gains = ", ".join(
        f"{way.name} {way.change_percent:+.0f} % [{way.change_low:+.0f}, {way.change_high:+.0f}]"
        for way in analysis().variants
        if way.name in _COMPARED
    )
    return f"Block efficiency over the heads' own drafts, ours: {gains}"


def _tuning() -> str:
    tried = {
        name: [row.block_efficiency for row in analysis().tuning[name].rows]
        for name in ("neural", "4-gram")
    }
    reach = "; ".join(f"{name} {min(of):.3f} to {max(of):.3f}" for name, of in tried.items())
    return (
        f"Table 8, grid 0.1 to 10 of its appendix E. Ours: on {analysis().tuning_texts} texts; "
        f"block efficiency there over the grid: {reach}"
    )


def _table(
    compute: Callable[[], Numbers], **shown: Any
) -> tuple[Callable[[], Numbers], Callable[[Numbers], drawing.Figure]]:
    return compute, partial(draw_grid, **shown)


FIGURES: drawing.Declared = {
    "blockwise-table3": _table(
        repetition,
        title=lambda cells: (
            f"A 2-gram takes repetition from {own(cells, '% consecutive'):.0f} % to "
            f"{own(cells, 'with 2-gram'):.0f} % of neighbouring drafted tokens"
        ),
        source=lambda: (
            "Table 3: pairs of neighbours in a draft that are one token, and the "
            f"mean over blocks of the longest such run. {said()}"
        ),
        form=".1f",
        width=8.4,
    ),
    "blockwise-table4": _table(
        partial(efficiencies, "blockwise-table4"),
        title=_gains,
        source=lambda: (
            f"Table 4 (neural: 61M weights; parallel: 16 drafts). {said()}; "
            "neural: the embedded draft"
        ),
    ),
    "blockwise-table5": _table(
        wins,
        title=lambda cells: (
            f"Neural rescoring: {own(cells, '% wins'):.0f} % of blocks get more tokens "
            f"accepted, {own(cells, '% losses'):.0f} % fewer; "
            f"{own(cells, 'wins repair'):.0f} % of the wins end a repetition"
        ),
        source=lambda: (
            "Table 5 (61M weights), as shares of all blocks, by accepted tokens; "
            "repair: the rescored draft no longer repeats a token, regress: "
            f"it now does. {said()}; neural: the embedded draft"
        ),
        form=".1f",
    ),
    "blockwise-table8": _table(
        weights,
        title="The tuned weight of the rescorer",
        source=_tuning,
        form="g",
        width=6.4,
    ),
    "blockwise-table9": _table(
        partial(efficiencies, "blockwise-table9"),
        title=lambda cells: (
            f"Block efficiency by rescorer: ours between {own(cells, 'base'):.2f} "
            f"(heads alone) and {own(cells, 'oracle k=16'):.2f} (the best path there is)"
        ),
        source=lambda: f"Table 9. {said()}; neural: the embedded draft",
        width=12.5,
    ),
    "blockwise-table10": _table(
        partial(efficiencies, "blockwise-table10"),
        title=lambda cells: (
            "Block efficiency with 3, 6 and 9 heads: ours "
            + ", ".join(f"{own(cells, f'{heads} heads'):.3f}" for heads in (3, 6, 9))
        ),
        source=lambda: (
            f"Table 10 (models trained with so many heads). {said()}; ours are "
            "the first of nine heads, trained apart from one another on a frozen model"
        ),
        form=".3f",
        width=7.6,
    ),
}
