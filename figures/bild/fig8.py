"""Kim et al. 2023 (BiLD), Figure 8: operations, memory traffic, intensity and speed-up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

from figures.bild.tables import TableLine
from figures.drawing import style
from figures.drawing.table import FigureRows
from figures.published import published
from studies.bild.cost import (
    BildCalls,
    expected_calls,
    relative_intensity,
    relative_memory_traffic,
    relative_operations,
)

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


@dataclass(frozen=True, slots=True)
class CostBar:
    """One quantity of BiLD, relative to vanilla inference.

    fitted: whether the cost model was fitted to it.
    rounded: whether the paper gives only a rounded number in words ("5x").
    """

    quantity: str
    ours: float
    published: float
    fitted: bool
    rounded: bool


def _calls(fallback: float, rollback: float) -> BildCalls:
    return expected_calls(fallback, rollback=rollback, max_draft=MAX_DRAFT)


def _operations(calls: BildCalls) -> float:
    return float(relative_operations(calls, c_hat=PARAMETER_RATIO))


def _intensity(calls: BildCalls) -> float:
    ratios = {"c_hat": PARAMETER_RATIO, "bytes_ratio": PARAMETER_RATIO}
    return float(relative_intensity(calls, **ratios))


@cache
def fitted() -> tuple[float, float]:
    """Returns fallback and rollback probability, fitted to the two bars marked as fitted.

    The paper gives neither probability for this data set. In the cost model the intensity depends
    only on the fallback, and then the operations only on the rollback. So two bars determine both
    probabilities, and the other two bars are predictions.
    """
    from scipy.optimize import brentq

    fallback = brentq(lambda x: _intensity(_calls(x, 0.0)) - PUBLISHED_INTENSITY, 1e-6, 1.0)
    rollback = brentq(lambda x: _operations(_calls(fallback, x)) - PUBLISHED_OPERATIONS, 0.0, 0.5)
    return float(fallback), float(rollback)


def compute() -> FigureRows[CostBar]:
    """Returns the cost model's quantities and the paper's."""
    fallback, rollback = fitted()
    calls = _calls(fallback, rollback)
    # The intensity does not depend on the rollback.
    intensity = _intensity(_calls(fallback, 0.0))
    memory = float(relative_memory_traffic(calls, bytes_ratio=PARAMETER_RATIO))
    speed_up = float(calls.tokens) / (1 + LAYER_RATIO * float(calls.small_calls))
    [printed] = [
        line.speedup
        for line in published("bild-table1", TableLine)
        if (line.dataset, line.method) == (DATASET, METHOD)
    ]
    assert printed is not None
    return FigureRows(
        (
            CostBar("operations", _operations(calls), PUBLISHED_OPERATIONS, True, False),
            CostBar("memory traffic", memory, PUBLISHED_MEMORY, False, True),
            CostBar("arithmetic intensity", intensity, PUBLISHED_INTENSITY, True, True),
            CostBar("speed-up", speed_up, printed, False, False),
        )
    )


def implied_c(speed_up: float) -> float:
    """Returns the cost of a small call over a large one that would give this speed-up."""
    calls = _calls(*fitted())
    return (float(calls.tokens) / speed_up - 1) / float(calls.small_calls)


def draw(data: FigureRows[CostBar]) -> style.Figure:
    """Returns the drawing: for each quantity our bar and the paper's."""
    (fallback, rollback), printed = fitted(), data.rows[-1].published
    figure, (axes,) = style.canvas(
        "Big Little Decoder moves a fifth of the bytes for a tenth more arithmetic",
        source="Kim et al. 2023 (BiLD), Figure 8, CNN/DailyMail, over vanilla inference = 1. "
        f"Cost model: fallback {fallback:.3f} and rollback {rollback:.3f} a token "
        "fitted to the bars marked *; speed-up at c = 6/24, the ratio of layers "
        f"({printed}× would take c = {implied_c(printed):.2f})",
        width=7.6,
    )
    half, above = 0.36, partial(style.note, axes, offset=(0, 3), align="center baseline")
    for shift, name, colour, field in (
        (-half / 2, "paper", style.ORANGE, "published"),
        (half / 2, "cost model", style.BLUE, "ours"),
    ):
        places = [i + shift for i in range(len(data.rows))]
        heights = [getattr(bar, field) for bar in data.rows]
        axes.bar(places, heights, width=half * 0.94, color=colour, label=name)
        for place, height, bar in zip(places, heights, data.rows, strict=True):
            said = f"≈ {height:g}" if bar.rounded and field == "published" else f"{height:.2f}"
            above(said, (place, height), colour=colour)
    axes.axhline(1, color=style.INK, linewidth=1)
    above("vanilla inference = 1", (1, 1), size=style.TEXT_SIZE - 1)
    axes.set_xticks(
        range(len(data.rows)), [bar.quantity + (" *" if bar.fitted else "") for bar in data.rows]
    )
    axes.set_xlim(-0.5, len(data.rows) - 0.5)
    axes.set_ylim(0, 5.7)
    axes.grid(visible=False)
    style.name_axes(axes, x="", y="factor over vanilla inference")
    style.key(axes, anchor=(0.0, 0.9), columns=2)
    return figure
