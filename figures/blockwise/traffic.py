"""Memory traffic per token: Table 11 of Kim et al. 2024, and the embedded target's."""

from collections.abc import Sequence
from dataclasses import dataclass

from figures.blockwise.measured import analysis
from figures.drawing.table import Layout
from figures.published import published_grid
from studies.blockwise.cost import cache_bytes_per_token, parameter_bytes_per_token

HEADS = 9
PARALLEL_DRAFTS = 16
CONTEXTS = (128, 512, 1024, 2048)
# Bytes, two per value. The table prints 3.000 GB for the 1.5B model; the 61M rescorer adds to it.
TARGET_PARAMETERS = 3.0e9
RESCORER_PARAMETERS = 2 * 61e6
# Keys and values of each layer, two bytes per value. The table's numbers follow from the "hidden
# dim" of Table 6, the width of the feed-forward block. Attention caches the embedding's width (1536
# and 384), so the printed numbers are 8 and 4 times the real traffic of these models.
TARGET_CACHE = 2 * 18 * 12288 * 2
RESCORER_CACHE = 2 * 12 * 1536 * 2

OUR_CONTEXTS = (128, 256, 512)  # the embedded target has 512 positions
BYTES = 4  # float32, as it runs on a CPU


def bytes_per_token(
    contexts: Sequence[int],
    *,
    drafts: int,
    heads: int,
    block_efficiency: float,
    weights: float,
    cache: float,
) -> list[float]:
    """Returns the bytes of weights per emitted token, then the bytes of the cache at each context.

    As in the paper, a rescorer's weights and cache count once per call, although it runs for
    each head.

    drafts: number of drafts verified in one call; 0 without drafting.
    weights: bytes of all weights.
    cache: bytes of one token in all caches.
    """
    of_weights = parameter_bytes_per_token(weights, block_efficiency=block_efficiency)
    of_cache = cache_bytes_per_token(
        cache, context=contexts, drafts=drafts, heads=heads, block_efficiency=block_efficiency
    )
    return [float(of_weights), *of_cache.tolist()]


@dataclass(frozen=True, slots=True)
class MemoryTraffic:
    """Gigabytes per token of one method: for weights (context None) or the cache at a context."""

    method: str
    context: int | None
    gigabytes: float
    published: float

    @property
    def differs(self) -> bool:
        """Whether our number rounds differently from the paper's."""
        return f"{self.gigabytes:.3f}" != f"{self.published:.3f}"


@dataclass(frozen=True, slots=True)
class OwnTraffic:
    """Megabytes per token of one drafting method: for weights (context None) or the cache."""

    way: str
    block_efficiency: float
    context: int | None
    megabytes: float


def table11() -> list[MemoryTraffic]:
    """Returns the cells of Table 11, from printed block efficiencies and sizes of models.

    The FLOPS are left out, because the paper counts them differently.
    """
    rows = []
    for method, printed in published_grid("blockwise-table11").items():
        drafts, rescorer, efficiency, *numbers = (value or 0.0 for value in printed.values())
        moved = bytes_per_token(
            CONTEXTS,
            drafts=int(drafts),
            heads=HEADS,
            block_efficiency=efficiency,
            weights=TARGET_PARAMETERS + rescorer * RESCORER_PARAMETERS,
            cache=TARGET_CACHE + rescorer * RESCORER_CACHE,
        )
        rows += [
            MemoryTraffic(method, context, 1e-9 * value, number)
            for context, value, number in zip((None, *CONTEXTS), moved, numbers, strict=True)
        ]
    return rows


def lay_table11(rows: Sequence[MemoryTraffic]) -> Layout:
    """Returns the cells; numbers that round differently from the paper's are marked."""
    printed = published_grid("blockwise-table11")
    by_method = [[row for row in rows if row.method == method] for method in printed]
    cells = tuple(
        (
            method,
            f"{of_method['block_efficiency']:.3f}",
            *(f"{row.gigabytes:.3f} ({row.published:.3f})" for row in of),
        )
        for (method, of_method), of in zip(printed.items(), by_method, strict=True)
    )
    return Layout(
        ("method", "B", "parameters", *(f"cache, L = {context}" for context in CONTEXTS)),
        cells,
        widths=(1.5, 0.7, 1.4, *(1.4 for _ in CONTEXTS)),
        width=9.6,
        height=3.3,
        marked=tuple(
            (i, 2 + j) for i, of in enumerate(by_method) for j, row in enumerate(of) if row.differs
        ),
    )


def own_traffic() -> list[OwnTraffic]:
    """Returns the cells from the measured block efficiencies and the sizes of the models."""
    ours = analysis()
    sizes, rows = ours.setup.sizes, []
    efficiencies = {"autoregressive": 1.0} | {
        way: ours.ways[way].block_efficiency
        for way in ("base", "4-gram", "neural", "parallel base", "parallel 4-gram")
    }
    for way, efficiency in efficiencies.items():
        heads, neural = way != "autoregressive", way == "neural"
        moved = bytes_per_token(
            OUR_CONTEXTS,
            drafts=PARALLEL_DRAFTS if way.startswith("parallel") else int(heads),
            heads=ours.heads,
            block_efficiency=efficiency,
            weights=BYTES * (sizes.target + heads * sizes.heads + neural * sizes.neural),
            cache=BYTES * (sizes.target_cache + neural * sizes.neural_cache),
        )
        rows += [
            OwnTraffic(way, efficiency, context, 1e-6 * value)
            for context, value in zip((None, *OUR_CONTEXTS), moved, strict=True)
        ]
    return rows


def own_title(rows: Sequence[OwnTraffic]) -> str:
    """Returns the title: the cost of reading weights with and without drafts."""
    weights = {row.way: row.megabytes for row in rows if row.context is None}
    least = min(weights, key=lambda way: weights[way])
    return (
        f"Reading weights, MB per token: {weights['autoregressive']:.1f} one token at a time, "
        f"{weights[least]:.1f} with {least}"
    )


def lay_own_traffic(rows: Sequence[OwnTraffic]) -> Layout:
    """Returns the cells by drafting method."""
    ways = {row.way: row.block_efficiency for row in rows}
    return Layout(
        ("MB per token", "B", "weights", *(f"cache, L = {context}" for context in OUR_CONTEXTS)),
        tuple(
            (way, f"{efficiency:.3f}", *(f"{row.megabytes:.2f}" for row in rows if row.way == way))
            for way, efficiency in ways.items()
        ),
        widths=(1.5, 0.8, 1.0, *(1.2 for _ in OUR_CONTEXTS)),
        width=8.4,
        height=3.2,
    )
