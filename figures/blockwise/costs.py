"""Kim et al. 2024 (blockwise drafts), Tables 11 to 13: memory traffic, and times of best paths."""

from collections.abc import Sequence

from figures import drawing
from figures.blockwise.tables import analysis, our_setup
from figures.numbers import Numbers, numbers, published, published_grid, results
from simulator.numerics.intervals import percent

HEADS, PARALLEL_DRAFTS = 9, 16
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
) -> dict[int | None, float]:
    """Returns the bytes moved per emitted token: {context: cache traffic, None: weight traffic}.

        weights / B   and   cache·(L + p·h) / B        (Kim et al. 2024, Table 11)

    A call reads the cache of the preceding L tokens (the context), writes the cache of p drafts of
    h tokens and emits B tokens. The paper has no formula; this one reproduces its 24 numbers as
    printed. A rescorer, a model that chooses among drafted tokens, runs for every head, but its
    weights and cache count once per call, as in the paper.

    tokens: p·h, number of drafted tokens in one call; 0 without drafting.
    weights: bytes of all weights.
    cache: bytes of one token in all caches.
    """
    moved: dict[int | None, float] = {None: weights / block_efficiency}
    return moved | {L: cache * (L + tokens) / block_efficiency for L in contexts}


def compute_table11() -> Numbers:
    """Returns Table 11 in gigabytes per token, from the paper's block efficiencies and model sizes.

    Rows with context None give the traffic of the weights. The table's FLOPS are left out, because
    the paper counts them differently.
    """
    rows = []
    for method, drafts, rescorer, efficiency, *given in published("blockwise-table11").cells:
        moved = bytes_per_token(
            CONTEXTS,
            tokens=drafts * HEADS,
            block_efficiency=efficiency,
            weights=TARGET_PARAMETERS + rescorer * RESCORER_PARAMETERS,
            cache=TARGET_CACHE + rescorer * RESCORER_CACHE,
        )
        for (context, value), number in zip(moved.items(), given, strict=True):
            rows.append((method, context, 1e-9 * value, number))
    return numbers("method context gigabytes published", rows)


def differing(data: Numbers) -> list[int]:
    """Returns the indices of rows whose number, rounded to 3 decimals, is not the paper's."""
    pairs = zip(data["gigabytes"], data["published"], strict=True)
    return [at for at, (ours, paper) in enumerate(pairs) if f"{ours:.3f}" != f"{paper:.3f}"]


def draw_table11(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Table 11 of Kim et al. 2024; numbers that differ from the paper's are marked."""
    cells = []
    for method, printed in published_grid("blockwise-table11").items():
        texts = (f"{row.gigabytes:.3f} ({row.published:.3f})" for row in data.where(method=method))
        cells.append((method, f"{printed['block_efficiency']:.3f}", *texts))
    others, contexts = differing(data), len(CONTEXTS) + 1
    marked = [(at // contexts, 2 + at % contexts) for at in others]
    same, drafts = len(data) - len(others), PARALLEL_DRAFTS
    return caption.table(cells, marked=marked, same=same, all=len(data), drafts=drafts, heads=HEADS)


def compute_own_traffic() -> Numbers:
    """Returns our models' memory traffic in MB per token, by drafting method and context.

    Rows with context None give the traffic of the weights.
    """
    ours = analysis()
    efficiencies = {way.name: way.block_efficiency for way in ours.variants}
    sizes, rows = ours.setup["sizes"], []
    for way in ("autoregressive", *WAYS):
        heads, neural = way != "autoregressive", way == "neural"
        drafts = PARALLEL_DRAFTS if way.startswith("parallel") else int(heads)
        efficiency = efficiencies.get(way, 1.0)
        moved = bytes_per_token(
            OUR_CONTEXTS,
            tokens=drafts * ours.heads,
            block_efficiency=efficiency,
            weights=BYTES * (sizes["target"] + heads * sizes["heads"] + neural * sizes["neural"]),
            cache=BYTES * (sizes["target_cache"] + neural * sizes["neural_cache"]),
        )
        rows += [(way, efficiency, context, 1e-6 * value) for context, value in moved.items()]
    return numbers("way block_efficiency context megabytes", rows)


def draw_own_traffic(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws a table of our memory traffic by drafting method."""
    weights = {row.way: row.megabytes for row in data.where(context=None)}
    least = min(weights.items(), key=lambda item: item[1])
    cells = []
    for way in weights:
        rows = data.where(way=way)
        megabytes = (f"{value:.2f}" for value in rows["megabytes"])
        cells.append((way, f"{rows['block_efficiency'][0]:.3f}", *megabytes))
    return caption.table(
        cells, weights=weights, least=least, drafts=PARALLEL_DRAFTS, setup=our_setup()
    )


def compute_times(table: str) -> Numbers:
    """Returns the milliseconds of searching one lattice for its best paths: the paper's, then ours.

    We measured lattices of the paper's sizes; the intervals are over lattices.

    table: "blockwise-table12" or "blockwise-table13".
    """
    printed = [("paper", "4-gram", *cells, None, None) for cells in published(table).cells]
    sizes = {row[2:5] for row in printed}
    ours = [
        ("ours", f"{row.order}-gram", row.steps, row.arcs, row.paths, row.ms, row.low, row.high)
        for row in results("lattice").rows
        if (row.steps, row.arcs, row.paths) in sizes
    ]
    ours.sort(key=lambda row: (row[1], row[2], row[4]))
    return numbers("source ngram steps arcs paths ms low high", [*printed, *ours])


def _how() -> str:
    """Returns how our times were measured, for the small print."""
    lattice = results("lattice")
    setup = lattice.setup
    sizes = ", ".join(f"{name} {sum(n) / 1e6:.1f} M" for name, n in vars(setup.ngrams).items())
    return (
        f"Ours: numpy {setup.numpy}, one core of an AMD EPYC virtual machine, {setup.date}; "
        f"{setup.lattices} lattices along held-out library code, the fastest of "
        f"{setup.repeats} repeats of each, mean and "
        f"{percent(lattice.confidence)} interval over lattices; n-grams: {sizes}"
    )


def draw_times(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Table 12 or 13 of Kim et al. 2024: a panel per step count, a line per n-gram order."""
    depths = sorted(data.distinct("steps"))
    along = "arcs" if len(depths) > 1 else "paths"
    longest = data.where(source="ours", steps=depths[-1], **{along: 16})
    times = ", ".join(f"{row.ms:.1f} ms with a {row.ngram}" for row in longest)
    figure, panels = caption.canvas(times=times, how=_how())
    top = 1.05 * max(row.high or row.ms for row in data)
    for steps, axes in zip(depths, panels, strict=True):
        panel = data.where(steps=steps)
        lines = dict.fromkeys(zip(panel["source"], panel["ngram"], strict=True))
        for (source, ngram), (mark, colour) in zip(lines, drawing.marks(), strict=False):
            rows = panel.where(source=source, ngram=ngram)
            label = f"{source}, {ngram}"
            axes.plot(rows[along], rows["ms"], marker=mark, color=colour, label=label)
            ends = zip(rows[along], rows["low"], rows["high"], strict=True)
            drawing.intervals(axes, ends, colour)
        drawing.octaves_on_x(axes, sorted(panel.distinct(along)))
        axes.set_ylim(0, top if len(panels) > 1 else None)
    if len(panels) > 1:
        drawing.key(panels[0], anchor=(0.02, 0.72))
    else:
        drawing.key(panels[0], anchor=(0.0, 1.01), columns=3)
    return figure
