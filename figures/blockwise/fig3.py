"""Kim et al. 2024 (blockwise drafts), Figure 3: block efficiency against h_max."""

from __future__ import annotations

from dataclasses import dataclass

from figures.blockwise.measured import PAPER, analysis, said
from figures.drawing import style
from figures.drawing.table import FigureRows

PUBLISHED_R = 0.77  # over data sets, section 6.2


@dataclass(frozen=True, slots=True)
class TextEfficiency:
    """One text: its h_max (last head with increasing mean entropy) and its block efficiency."""

    h_max: int
    block_efficiency: float


@dataclass(frozen=True, slots=True)
class Fig3(FigureRows[TextEfficiency]):
    """Our texts, and Pearson's r over them with its interval; None if a variable is constant."""

    r: float | None
    low: float | None
    high: float | None


def compute() -> Fig3:
    """Returns our texts; the paper's points are data sets, without printed numbers."""
    result = analysis()
    found = result.h_max_correlation
    pairs = zip(result.h_max_by_text, result.block_efficiency_by_text, strict=True)
    return Fig3(tuple(TextEfficiency(*pair) for pair in pairs), found.value, found.low, found.high)


def draw(data: Fig3) -> style.Figure:
    """Returns the drawing, with a point for each text."""
    ours = "none: nothing varies"
    if data.r is not None:
        ours = f"{data.r:.2f} [{data.low:.2f}, {data.high:.2f}]"
    figure, (axes,) = style.canvas(
        f"Block efficiency and h_max: correlation {ours} over our texts, {PUBLISHED_R} over the "
        "paper's data sets",
        source=f"{PAPER}, Figure 3 and section 6.2. h_max: the head up to which the mean entropy "
        f"of the heads rises. {said()}",
    )
    # Points with the same h_max are spread out horizontally.
    columns: dict[int, list[float]] = {}
    for row in data.rows:
        columns.setdefault(row.h_max, []).append(row.block_efficiency)
    for h_max, values in columns.items():
        places = [h_max + 0.5 * ((n + 0.5) / len(values) - 0.5) for n in range(len(values))]
        axes.plot(places, sorted(values), "o", color=style.BLUE, markersize=4, alpha=0.7)
        mean = sum(values) / len(values)
        axes.plot([h_max - 0.35, h_max + 0.35], [mean, mean], color=style.VERMILION, linewidth=2)
    axes.set_xticks(sorted(columns))
    style.name_axes(axes, x="h_max of a text (line: mean)", y="block efficiency, heads alone")
    return figure
