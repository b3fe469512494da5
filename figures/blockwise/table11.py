"""Kim et al. 2024 (blockwise drafts), Table 11: parameter and key–value traffic per token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.drawing.table import Table, table_of
from studies.blockwise.cost import cache_bytes_per_token, parameter_bytes_per_token

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADS = 9
PARALLEL_DRAFTS = 16
CONTEXTS = (128, 512, 1024, 2048)
# Bytes, two a value. The table prints 3.000 GB for the 1.5B model; the 61M rescorer adds its own.
TARGET_PARAMETERS = 3.0e9
RESCORER_PARAMETERS = 2 * 61e6
# Keys and values of each layer, two bytes a value. The width at which the table comes out is the
# "hidden dim" of Table 6, that of the feed-forward block; attention caches the embedding's width
# (1536 and 384), so the printed numbers are 8 and 4 times what these models would move.
TARGET_CACHE = 2 * 18 * 12288 * 2
RESCORER_CACHE = 2 * 12 * 1536 * 2


@dataclass(frozen=True, slots=True)
class Column:
    """One method of the table as printed: B, parameter I/O and, by context, cache I/O in GB."""

    method: str
    drafts: int
    rescorer: bool
    block_efficiency: float
    parameters: float
    cache: tuple[float, ...]


PUBLISHED = (
    Column("autoregressive", 0, False, 1.000, 3.000, (0.113, 0.453, 0.906, 1.812)),
    Column("base", 1, False, 1.646, 1.823, (0.074, 0.280, 0.555, 1.106)),
    Column("4-gram", 1, False, 1.657, 1.811, (0.073, 0.278, 0.552, 1.098)),
    Column("neural-61M", 1, True, 1.724, 1.811, (0.076, 0.290, 0.574, 1.144)),
    Column("parallel base", PARALLEL_DRAFTS, False, 1.717, 1.747, (0.140, 0.338, 0.602, 1.129)),
    Column("parallel 4-gram", PARALLEL_DRAFTS, False, 1.797, 1.669, (0.134, 0.323, 0.575, 1.079)),
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Gigabytes per token of one method: of weights (context None) or of cache at a context."""

    method: str
    context: int | None
    gigabytes: float
    published: float


@dataclass(frozen=True, slots=True)
class Table11:
    """All numbers of the table but the FLOPS, which follow another way of counting."""

    rows: tuple[Traffic, ...]

    def table(self) -> Table:
        return table_of(self.rows)


def compute() -> Table11:
    """Returns every cell from the printed block efficiency and the sizes of the models."""
    rows = []
    for column in PUBLISHED:
        weights = TARGET_PARAMETERS + column.rescorer * RESCORER_PARAMETERS
        gigabytes = 1e-9 * float(
            parameter_bytes_per_token(weights, block_efficiency=column.block_efficiency)
        )
        rows.append(Traffic(column.method, None, gigabytes, column.parameters))
        cache = cache_bytes_per_token(
            TARGET_CACHE + column.rescorer * RESCORER_CACHE,
            context=CONTEXTS,
            drafts=column.drafts,
            heads=HEADS,
            block_efficiency=column.block_efficiency,
        )
        rows += [
            Traffic(column.method, context, 1e-9 * value, published)
            for context, value, published in zip(
                CONTEXTS, cache.tolist(), column.cache, strict=True
            )
        ]
    return Table11(tuple(rows))


def draw(data: Table11) -> Figure:
    """Returns the drawing: the table, a number that rounds differently from the paper's marked."""
    from figures.drawing import style

    differing = sum(f"{row.gigabytes:.3f}" != f"{row.published:.3f}" for row in data.rows)
    figure, (axes,) = style.canvas(
        f"Memory traffic, GB per token: {len(data.rows) - differing} of the paper's "
        f"{len(data.rows)} such numbers reproduced",
        source="Kim et al. 2024 (blockwise drafts), Table 11 but for its FLOPS; the paper's number "
        "in brackets. Parameters: weights / B; cache: kv·(L + p·h) / B. B: block efficiency, "
        "tokens per target call; kv: keys and values of one token; L: tokens of context; "
        f"p = {PARALLEL_DRAFTS} parallel drafts (1 if not parallel, 0 if autoregressive); "
        f"h = {HEADS} heads; for neural-61M weights and kv include the rescorer's",
        width=9.6,
        height=3.3,
    )
    cells = []
    marked = []
    for i, column in enumerate(PUBLISHED):
        rows = [row for row in data.rows if row.method == column.method]
        cells.append(
            (
                column.method,
                f"{column.block_efficiency:.3f}",
                *(f"{row.gigabytes:.3f} ({row.published:.3f})" for row in rows),
            )
        )
        marked += [
            (i, 2 + j)
            for j, row in enumerate(rows)
            if f"{row.gigabytes:.3f}" != f"{row.published:.3f}"
        ]
    style.draw_table(
        axes,
        ("method", "B", "parameters", *(f"cache, L = {context}" for context in CONTEXTS)),
        cells,
        marked=marked,
        widths=(1.5, 0.7, 1.4, *(1.4 for _ in CONTEXTS)),
    )
    return figure
