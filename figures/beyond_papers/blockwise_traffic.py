"""Table 11 of Kim et al. 2024 for the embedded target: bytes per token, by way to draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.blockwise.measured import analysis, said, variants
from figures.drawing.table import Table, table_of
from studies.blockwise.cost import cache_bytes_per_token, parameter_bytes_per_token

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONTEXTS = (128, 256, 512)   # the embedded target has 512 positions
BYTES = 4                    # float32, as it runs on a CPU
PARALLEL_DRAFTS = 16
# Name, p, whether heads draft, whether the small model rescores.
WAYS = (
    ("autoregressive", 0, False, False),
    ("base", 1, True, False),
    ("4-gram", 1, True, False),
    ("neural", 1, True, True),
    ("parallel base", PARALLEL_DRAFTS, True, False),
    ("parallel 4-gram", PARALLEL_DRAFTS, True, False),
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Megabytes per token of one way to draft: of weights (context None) or of cache."""

    way: str
    block_efficiency: float
    context: int | None
    megabytes: float


@dataclass(frozen=True, slots=True)
class TrafficTable:
    """All cells, by way and then by context."""

    rows: tuple[Traffic, ...]

    def table(self) -> Table:
        return table_of(self.rows)


def compute() -> TrafficTable:
    """Returns every cell from the measured block efficiencies and the sizes of the models.

    As in the paper a rescorer's weights and cache count once a call, though it runs for each head.
    """
    result = analysis()
    sizes = result["setup"]["sizes"]
    rows = []
    for way, drafts, with_heads, rescored in WAYS:
        efficiency = 1.0 if drafts == 0 else variants()[way]["block_efficiency"]
        weights = (
            sizes["target"] + with_heads * sizes["heads"] + rescored * sizes["neural"]
        )
        moved = parameter_bytes_per_token(BYTES * weights, block_efficiency=efficiency)
        rows.append(Traffic(way, efficiency, None, 1e-6 * float(moved)))
        cached = sizes["target_cache"] + rescored * sizes["neural_cache"]
        cache = cache_bytes_per_token(
            BYTES * cached,
            context=CONTEXTS,
            drafts=drafts,
            heads=result["heads"],
            block_efficiency=efficiency,
        )
        rows += [
            Traffic(way, efficiency, context, 1e-6 * value)
            for context, value in zip(CONTEXTS, cache.tolist(), strict=True)
        ]
    return TrafficTable(tuple(rows))


def draw(data: TrafficTable) -> Figure:
    """Returns the drawing: a table by way to draft."""
    from figures.drawing import style

    ways = list(dict.fromkeys(row.way for row in data.rows))
    cells = []
    for way in ways:
        rows = [row for row in data.rows if row.way == way]
        cells.append(
            (way, f"{rows[0].block_efficiency:.3f}", *(f"{row.megabytes:.2f}" for row in rows))
        )
    weights = {row.way: row.megabytes for row in data.rows if row.context is None}
    least = min(weights, key=lambda way: weights[way])
    figure, (axes,) = style.canvas(
        f"Reading weights, MB per token: {weights['autoregressive']:.1f} one token at a time, "
        f"{weights[least]:.1f} with {least}",
        source="As Table 11 of Kim et al. 2024 (blockwise drafts): weights / B and kv·(L + p·h) / "
        f"B, float32; B: block efficiency, L: tokens of context, p = {PARALLEL_DRAFTS} parallel "
        f"drafts, each read in full (a tree reads shared beginnings once). {said()}",
        width=8.4,
        height=3.2,
    )
    style.draw_table(
        axes,
        ("MB per token", "B", "weights", *(f"cache, L = {context}" for context in CONTEXTS)),
        cells,
        widths=(1.5, 0.8, 1.0, *(1.2 for _ in CONTEXTS)),
    )
    return figure
