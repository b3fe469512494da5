"""Quality against latency, as Figures 4, 5 and 10 of Kim et al. 2023 draw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from figures.bild.measured import Row, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METRICS = {
    "bleu": "BLEU",
    "agreement": "agreement with the large model, %",
    "rouge_l": "ROUGE-L",
}


def front(rows: Sequence[Row]) -> list[Row]:
    """Returns the rows that no other beats both in quality and in speed, fastest first."""
    kept = [
        row
        for row in rows
        if not any(
            other.quality >= row.quality
            and other.speedup >= row.speedup
            and (other.quality, other.speedup) != (row.quality, row.speedup)
            for other in rows
        )
    ]
    return sorted(kept, key=lambda row: row.latency)


def prepare(axes: Axes, sweep: Sweep, *, panel: str) -> None:
    """Draws the large model's mark, its quality and one point below, and names the axes."""
    from figures.drawing import style

    quality = sweep.large.quality
    for height, dashes in ((quality, "-"), (quality - 1, ":")):
        axes.axhline(height, color=style.GREY, linewidth=1, linestyle=dashes)
    axes.plot(1, quality, "X", color=style.INK, markersize=9, label="large model alone", zorder=3)
    style.name_axes(
        axes,
        x="seconds per token over the large model's",
        y=METRICS[sweep.metric],
        panel=f"{panel} ({sweep.prompts} prompts)",
    )


def draw_rows(
    axes: Axes, rows: Sequence[Row], *, name: str, colour: str, mark: str
) -> None:
    """Draws rows as marks, a line along their front."""
    best = front(rows)
    axes.plot(
        [row.latency for row in best],
        [row.quality for row in best],
        color=colour,
        linewidth=1.8,
    )
    axes.plot(
        [row.latency for row in rows],
        [row.quality for row in rows],
        mark,
        color=colour,
        markersize=5.5,
        label=name,
    )
