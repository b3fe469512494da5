"""Kim et al. 2023 (BiLD), Figures 2 and 8: calls of the large model, quality and costs."""

from functools import cache, partial

from figures import drawing
from figures.bild.tables import SOURCE, measured
from figures.bild.trade_off import METRICS, rollback_name
from figures.numbers import Numbers, numbers, published
from studies.bild.cost import BildCalls, expected_calls

# Percentage of tokens at which the small model "can retain the large model's quality" (3.1).
PUBLISHED_SHARE = 20


def compute_shares() -> Numbers:
    """Returns quality, and large-model calls in % of tokens, of BiLD and of each model on its own.

    They are measured by our greedy sweeps with a draft model that was not aligned (not trained on
    the target's texts). In the paper both models run at every step, and the large model replaces
    unlikely tokens; here the large model writes one token per call.
    """
    rows = [
        (
            sweep.task, sweep.metric, row.decoder, row.rollback, row.fallback_percent,
            sweep.score(row),
        )
        for sweep in measured()
        if sweep.is_plain
        for row in sweep.rows
        if row.decoder in ("large", "small", "bild", "window")
    ]  # fmt: skip
    return numbers("task metric decoder rollback large_percent quality", rows)


def draw_shares(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 2 of the BiLD paper: quality against large-model calls, a panel per task."""
    tasks = data.distinct("task")
    grid, size = (1, len(tasks)), (3.9 * len(tasks) + 1.0, 4.6)
    figure, panels = caption.canvas(grid, size, share=PUBLISHED_SHARE, ours=SOURCE)
    for axes, task in zip(panels, tasks, strict=True):
        points = data.where(task=task)
        large, small = (points.where(decoder=decoder) for decoder in ("large", "small"))
        axes.axhline(large["quality"][0], color=drawing.GREY, linewidth=1)
        paper, share = f"paper: {PUBLISHED_SHARE} %", PUBLISHED_SHARE
        axes.axvline(share, color=drawing.ORANGE, linewidth=1, linestyle="--", label=paper)
        single = (large[name] + small[name] for name in ("large_percent", "quality"))
        axes.plot(*single, "X", color=drawing.INK, markersize=9, label="either alone")
        bild = [point for point in points if point.decoder in ("bild", "window")]
        thresholds = dict.fromkeys(point.rollback for point in bild)
        for threshold, (mark, colour) in zip(thresholds, drawing.marks(), strict=False):
            reached = [(p.large_percent, p.quality) for p in bild if p.rollback == threshold]
            marked = zip(*sorted(reached), strict=True)
            axes.plot(*marked, mark, color=colour, markersize=5.5, label=rollback_name(threshold))
        axes.set_xlim(-4, 104)
        drawing.name_axes(axes, y=METRICS[points["metric"][0]], panel=task)
    drawing.key(panels[-1], anchor=(1.03, 0.0))
    return figure


# Decoder parameters of T5-small and T5-large without embeddings, and their layers (Table 2).
PARAMETER_RATIO = 25 / 402
LAYER_RATIO = 6 / 24
MAX_DRAFT = 10  # §7.1.2
# CNN/DailyMail over vanilla inference. Operations are printed on the bar; "a significant 5x
# reduction" and "approximately 5 times larger" are the text's (§7.5.1).
PUBLISHED_OPERATIONS = 1.11
PUBLISHED_MEMORY = 1 / 5
PUBLISHED_INTENSITY = 5.0
DATASET, METHOD = "CNN/DailyMail", "aligned, no loss"  # the speed-up is Table 1's of these


def _calls(fallback: float, rollback: float) -> BildCalls:
    return expected_calls(fallback, rollback=rollback, max_draft=MAX_DRAFT)


def _intensity(calls: BildCalls) -> float:
    """Returns BiLD's arithmetic operations per byte moved, divided by the large model's."""
    return calls.operations(PARAMETER_RATIO) / calls.memory_traffic(PARAMETER_RATIO)


@cache
def fitted() -> tuple[float, float]:
    """Returns the probabilities of fallback and rollback that reproduce two bars of Figure 8.

    The paper gives neither probability for CNN/DailyMail. In the cost model the bar of arithmetic
    intensity determines the fallback probability; given that, the bar of operations determines the
    rollback probability. The other two bars are predictions.
    """
    from scipy.optimize import brentq

    fallback = brentq(lambda x: _intensity(_calls(x, 0.0)) - PUBLISHED_INTENSITY, 1e-6, 1.0)
    rollback = brentq(
        lambda x: _calls(fallback, x).operations(PARAMETER_RATIO) - PUBLISHED_OPERATIONS, 0.0, 0.5
    )
    return float(fallback), float(rollback)


def compute_costs() -> Numbers:
    """Returns Figure 8's four quantities, from our cost model and from the paper.

    All are relative to vanilla inference, which is the large model without a draft.

    fitted: whether the cost model's probabilities were chosen to reproduce this number.
    rounded: whether the paper states only a rounded number in its text ("5x").
    """
    fallback, rollback = fitted()
    calls = _calls(fallback, rollback)
    # The intensity does not depend on the rollback.
    intensity = _intensity(_calls(fallback, 0.0))
    memory = calls.memory_traffic(PARAMETER_RATIO)
    speed_up = calls.tokens / (1 + LAYER_RATIO * calls.small_calls)
    [printed] = published("bild-table1").where(dataset=DATASET, method=METHOD)["speedup"]
    rows = (
        ("operations", calls.operations(PARAMETER_RATIO), PUBLISHED_OPERATIONS, True, False),
        ("memory traffic", memory, PUBLISHED_MEMORY, False, True),
        ("arithmetic intensity", intensity, PUBLISHED_INTENSITY, True, True),
        ("speed-up", speed_up, printed, False, False),
    )
    return numbers("quantity ours published fitted rounded", rows)


def implied_c(speed_up: float) -> float:
    """Returns the c that would give this speed-up: a small call's time / a large call's time."""
    calls = _calls(*fitted())
    return (calls.tokens / speed_up - 1) / calls.small_calls


def draw_costs(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 8 of the BiLD paper: per quantity, the paper's bar and our cost model's."""
    (fallback, rollback), printed = fitted(), data["published"][-1]
    figure, (axes,) = caption.canvas(
        fallback=fallback, rollback=rollback, printed=printed, implied=implied_c(printed)
    )
    half, above = 0.36, partial(drawing.note, axes, offset=(0, 3), align="center baseline")
    for shift, name, colour, column in (
        (-half / 2, "paper", drawing.ORANGE, "published"),
        (half / 2, "cost model", drawing.BLUE, "ours"),
    ):
        places, heights = [i + shift for i in range(len(data))], data[column]
        axes.bar(places, heights, width=half * 0.94, color=colour, label=name)
        for place, height, rounded in zip(places, heights, data["rounded"], strict=True):
            text = f"≈ {height:g}" if rounded and column == "published" else f"{height:.2f}"
            above(text, (place, height), colour=colour)
    axes.axhline(1, color=drawing.INK, linewidth=1)
    above("vanilla inference = 1", (1, 1), size=drawing.TEXT_SIZE - 1)
    axes.set_xticks(range(len(data)), [bar.quantity + " *" * bar.fitted for bar in data])
    axes.set(xlim=(-0.5, len(data) - 0.5), ylim=(0, 5.7))
    axes.grid(visible=False)
    drawing.key(axes, anchor=(0.0, 0.9), columns=2)
    return figure
