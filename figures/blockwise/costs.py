"""Kim et al. 2024 (blockwise drafts), Tables 11 to 13: memory traffic, and times of best paths."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from figures import drawing
from figures.blockwise.tables import PAPER, analysis, said
from figures.numbers import Numbers, numbers, published, published_grid, results
from simulator.numerics.intervals import FORMER_CONFIDENCE, percent

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
    contexts: Sequence[int], *, tokens: int, block_efficiency: float, weights: float, cache: float
) -> list[float]:
    """Returns the bytes moved per emitted token: weights first, then the cache at each context.

        weights / B   and   cache·(L + p·h) / B        (Kim et al. 2024, Table 11)

    A call reads the cache of the preceding L tokens, writes the cache of p drafts of h tokens and
    emits B tokens. The paper has no formula; this one reproduces its 24 numbers as printed. A
    rescorer's weights and cache count once per call, as in the paper, although it runs per head.

    tokens: p·h, number of drafted tokens in one call; 0 without drafting.
    weights: bytes of all weights.
    cache: bytes of one token in all caches.
    """
    caches = (cache * (context + tokens) for context in contexts)
    return [moved / block_efficiency for moved in (weights, *caches)]


def table11() -> Numbers:
    """Returns Table 11 in gigabytes per token, from the paper's block efficiencies and model sizes.

    Rows with context None give the traffic of the weights. The FLOPS are left out, because the
    paper counts them differently.
    """
    rows = []
    for method, printed in published_grid("blockwise-table11").items():
        drafts, rescorer, efficiency, *given = printed.values()
        moved = bytes_per_token(
            CONTEXTS,
            tokens=drafts * HEADS,
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
    """Returns the indices of rows whose number rounds differently from the paper's."""
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
        size=(9.6, 3.3),
        marked=[(at // contexts, 2 + at % contexts) for at in others],
    )


def own_traffic() -> Numbers:
    """Returns our models' memory traffic in MB per token; context None: traffic of the weights."""
    ours = analysis()
    sizes, rows = ours.setup["sizes"], []
    for way in ("autoregressive", *WAYS):
        heads, neural = way != "autoregressive", way == "neural"
        drafts = PARALLEL_DRAFTS if way.startswith("parallel") else int(heads)
        efficiency = ours.ways[way].block_efficiency if heads else 1.0
        moved = bytes_per_token(
            OUR_CONTEXTS,
            tokens=drafts * ours.heads,
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
    """Returns a table of our memory traffic by drafting method; the title names the least."""
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
        size=(8.4, 3.2),
    )


def times(table: str) -> Numbers:
    """Returns milliseconds per lattice: the paper's, then ours for lattices of the same sizes.

    Our times have intervals over lattices. Lattices in Table 12 have 8 steps of 16 arcs; Table 13
    finds one path per lattice.
    """
    printed = [
        (
            *("paper", "4-gram", getattr(row, "steps", 8), getattr(row, "arcs", 16)),
            *(getattr(row, "paths", 1), row.ms, None, None),
        )
        for row in published(table)
    ]
    sizes = {row[2:5] for row in printed}
    ours = [
        (
            *("ours", f"{row.order}-gram", row.steps, row.arcs, row.paths),
            *(row.ms, row.low, row.high),
        )
        for row in results("lattice").rows
        if (row.steps, row.arcs, row.paths) in sizes
    ]
    ours.sort(key=lambda row: (row[1], row[2], row[4]))
    return numbers("source ngram steps arcs paths ms low high", [*printed, *ours])


def _how() -> str:
    """Returns how our times were measured, for the small print."""
    found = results("lattice")
    setup, level = found.setup, getattr(found, "confidence", FORMER_CONFIDENCE)
    sizes = ", ".join(f"{name} {sum(n) / 1e6:.1f} M" for name, n in vars(setup.ngrams).items())
    return (
        f"Ours: numpy {setup.numpy}, one core of an AMD EPYC virtual machine, {setup.date}; "
        f"{setup.lattices} lattices along held-out library code, the fastest of "
        f"{setup.repeats} repeats of each, mean and "
        f"{percent(level)} interval over lattices; n-grams: {sizes}"
    )


def _own_of(rows: Numbers) -> str:
    ours = rows.where(source="ours")
    return ", ".join(f"{row.ms:.1f} ms with a {row.ngram}" for row in ours)


def _draw_times(axes: drawing.Axes, data: Numbers, *, along: str) -> None:
    """Draws a line for the paper and one for each of our n-grams.

    along: column of the horizontal axis, "paths" or "arcs".
    """
    lines = dict.fromkeys(zip(data["source"], data["ngram"], strict=True))
    for (source, ngram), (mark, colour) in zip(lines, drawing.marks(), strict=False):
        rows = data.where(source=source, ngram=ngram)
        label = f"{source}, {ngram}"
        axes.plot(rows[along], rows["ms"], marker=mark, color=colour, label=label)
        drawing.intervals(axes, zip(rows[along], rows["low"], rows["high"], strict=True), colour)
    drawing.octaves_on_x(axes, sorted(data.distinct(along)))


def draw_by_paths(data: Numbers) -> drawing.Figure:
    """Returns Table 12: a line for the paper and one for each of our n-grams."""
    figure, (axes,) = drawing.canvas(
        f"The 16 best of 4.3 billion paths: {_own_of(data.where(paths=16))}, in numpy",
        source=f"{PAPER}, Table 12: 8 steps of 16 arcs, a 4-gram of 100 M n-grams, in OpenFST. "
        f"{_how()}",
    )
    _draw_times(axes, data, along="paths")
    axes.set_ylim(bottom=0)
    drawing.name_axes(axes, x="paths found", y="milliseconds for a lattice")
    drawing.key(axes, anchor=(0.0, 1.01), columns=3)
    return figure


def draw_by_size(data: Numbers) -> drawing.Figure:
    """Returns Table 13: a panel for each number of steps."""
    depths = sorted(data.distinct("steps"))
    figure, panels = drawing.canvas(
        f"The best path of 16 steps of 16 arcs: {_own_of(data.where(steps=16, arcs=16))}",
        source=f"{PAPER}, Table 13: a 4-gram of 100 M n-grams, OpenFST. {_how()}",
        columns=len(depths),
        size=(9.6, 4.2),
    )
    top = 1.05 * max(row.high or row.ms for row in data)
    for steps, axes in zip(depths, panels, strict=True):
        _draw_times(axes, data.where(steps=steps), along="arcs")
        axes.set_ylim(0, top)
        y = "milliseconds" if steps == depths[0] else ""
        drawing.name_axes(axes, x="arcs at each step", y=y, panel=f"{steps} steps")
    drawing.key(panels[0], anchor=(0.02, 0.72))
    return figure


FIGURES: drawing.Declared = {
    "blockwise-table11": (table11, draw_table11),
    "blockwise-traffic": (own_traffic, draw_own_traffic),
    "blockwise-table12": (partial(times, "blockwise-table12"), draw_by_paths),
    "blockwise-table13": (partial(times, "blockwise-table13"), draw_by_size),
}
