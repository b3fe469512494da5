"""Memory traffic per token: Table 11 of Kim et al. 2024, and the embedded target's."""

from __future__ import annotations

from collections.abc import Sequence

from figures import drawing
from figures.blockwise.measured import PAPER, analysis, said
from figures.numbers import Numbers, numbers, published_grid

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
WAYS = ("base", "4-gram", "neural", "parallel base", "parallel 4-gram")


def bytes_per_token(
    contexts: Sequence[int],
    *,
    drafts: int,
    heads: int,
    block_efficiency: float,
    weights: float,
    cache: float,
) -> list[float]:
    """Returns the bytes moved per emitted token: of weights, then of the cache at each context.

        weights / B   and   cache·(L + p·h) / B        (Kim et al. 2024, Table 11)

    A call reads the cache of the preceding L tokens, writes p drafts of h tokens and emits B. The
    paper prints no formula; this one reproduces its 24 numbers to the printed digits. As in the
    paper, a rescorer's weights and cache count once per call, although it runs for each head.

    drafts: p, number of drafts verified in one call; 0 without drafting.
    heads: h, the target's own included.
    weights: bytes of all weights.
    cache: bytes of one token in all caches.
    """
    caches = (cache * (context + drafts * heads) for context in contexts)
    return [moved / block_efficiency for moved in (weights, *caches)]


def table11() -> Numbers:
    """Returns Table 11 in gigabytes, from printed block efficiencies and sizes of models.

    A context of None: the weights. The FLOPS are left out, because the paper counts them
    differently.
    """
    rows = []
    for method, printed in published_grid("blockwise-table11").items():
        drafts, rescorer, efficiency, *given = printed.values()
        moved = bytes_per_token(
            CONTEXTS,
            drafts=drafts,
            heads=HEADS,
            block_efficiency=efficiency,
            weights=TARGET_PARAMETERS + rescorer * RESCORER_PARAMETERS,
            cache=TARGET_CACHE + rescorer * RESCORER_CACHE,
        )
        rows += [
            (method, context, 1e-9 * value, number)
            for context, value, number in zip((None, *CONTEXTS), moved, given, strict=True)
        ]
    return numbers("method context gigabytes published", rows)


def differing(data: Numbers) -> list[int]:
    """Returns the rows whose number rounds differently from the paper's."""
    pairs = zip(data["gigabytes"], data["published"], strict=True)
    return [at for at, (own, paper) in enumerate(pairs) if f"{own:.3f}" != f"{paper:.3f}"]


def draw_table11(data: Numbers) -> drawing.Figure:
    """Returns Table 11; numbers that round differently from the paper's are marked."""
    cells = []
    for method, printed in published_grid("blockwise-table11").items():
        texts = (f"{row.gigabytes:.3f} ({row.published:.3f})" for row in data.where(method=method))
        cells.append((method, f"{printed['block_efficiency']:.3f}", *texts))
    others, contexts = differing(data), len(CONTEXTS) + 1
    return drawing.draw_table(
        f"Memory traffic, GB per token: {len(data) - len(others)} of the paper's {len(data)} such "
        "numbers reproduced",
        source=f"{PAPER}, Table 11 but for its FLOPS; the paper's number "
        "in brackets. Parameters: weights / B; cache: kv·(L + p·h) / B. B: block "
        "efficiency, tokens per target call; kv: keys and values of one token; "
        f"L: tokens of context; p = {PARALLEL_DRAFTS} parallel drafts (1 if not parallel, 0 if "
        f"autoregressive); h = {HEADS} heads; for neural-61M weights and kv "
        "include the rescorer's",
        heading=("method", "B", "parameters", *(f"cache, L = {context}" for context in CONTEXTS)),
        cells=cells,
        widths=(1.5, 0.7, 1.4, *(1.4 for _ in CONTEXTS)),
        width=9.6,
        height=3.3,
        marked=[(at // contexts, 2 + at % contexts) for at in others],
    )


def own_traffic() -> Numbers:
    """Returns megabytes from the measured block efficiencies and the sizes of our models."""
    ours = analysis()
    sizes, rows = ours.sizes, []
    for way in ("autoregressive", *WAYS):
        heads, neural = way != "autoregressive", way == "neural"
        efficiency = ours.ways[way].block_efficiency if heads else 1.0
        moved = bytes_per_token(
            OUR_CONTEXTS,
            drafts=PARALLEL_DRAFTS if way.startswith("parallel") else int(heads),
            heads=ours.heads,
            block_efficiency=efficiency,
            weights=BYTES * (sizes["target"] + heads * sizes["heads"] + neural * sizes["neural"]),
            cache=BYTES * (sizes["target_cache"] + neural * sizes["neural_cache"]),
        )
        rows += [
            (way, efficiency, context, 1e-6 * value)
            for context, value in zip((None, *OUR_CONTEXTS), moved, strict=True)
        ]
    return numbers("way block_efficiency context megabytes", rows)


def draw_own_traffic(data: Numbers) -> drawing.Figure:
    """Returns our traffic by drafting method, titled with the traffic of weights."""
    weights = {row.way: row.megabytes for row in data.where(context=None)}
    least = min(weights, key=lambda way: weights[way])
    cells = []
    for way in weights:
        rows = data.where(way=way)
        megabytes = (f"{value:.2f}" for value in rows["megabytes"])
        cells.append((way, f"{rows['block_efficiency'][0]:.3f}", *megabytes))
    return drawing.draw_table(
        f"Reading weights, MB per token: {weights['autoregressive']:.1f} one token at a time, "
        f"{weights[least]:.1f} with {least}",
        source=f"As Table 11 of {PAPER}: weights / B and kv·(L + p·h) / "
        "B, float32; B: block efficiency, L: tokens of context, "
        f"p = {PARALLEL_DRAFTS} parallel drafts, each read in full "
        f"(a tree reads shared beginnings once). {said()}",
        heading=("MB per token", "B", "weights", *(f"cache, L = {each}" for each in OUR_CONTEXTS)),
        cells=cells,
        widths=(1.5, 0.8, 1.0, *(1.2 for _ in OUR_CONTEXTS)),
        width=8.4,
        height=3.2,
    )


FIGURES: drawing.Declared = {
    "blockwise-table11": (table11, draw_table11),
    "blockwise-traffic": (own_traffic, draw_own_traffic),
}
