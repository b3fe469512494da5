"""Kim et al. 2023 (BiLD), Figure 2: quality against the large model's share of the text."""

from __future__ import annotations

from dataclasses import dataclass

from figures.bild.measured import SOURCE, measured
from figures.bild.trade_off import METRICS
from figures.drawing import style
from figures.drawing.table import FigureRows

PUBLISHED_SHARE = 20
"""Percentage of tokens at which the small model "can retain the large model's quality" (3.1)."""


@dataclass(frozen=True, slots=True)
class SharePoint:
    """One decoder.

    large_percent: percentage of tokens from the large model; 0 for the small model only, 100 for
      the large model only.
    rollback: BiLD's threshold; None without one.
    """

    task: str
    metric: str
    decoder: str
    rollback: float | None
    large_percent: float
    quality: float


def compute() -> FigureRows[SharePoint]:
    """Returns BiLD's rows and both models' rows, for our unaligned pairs at temperature 0.

    In the paper both models run at every step, and the large one replaces unlikely tokens. Here the
    large model writes one token per call, so its percentage is calls over tokens.
    """
    return FigureRows(
        tuple(
            SharePoint(
                sweep.task, sweep.metric, row.decoder, row.rollback, row.fallback_percent,
                sweep.score(row),
            )
            for sweep in measured()
            if sweep.is_plain
            for row in sweep.rows
            if row.decoder in ("large", "small", "bild", "window")
        )
    )  # fmt: skip


def draw(data: FigureRows[SharePoint]) -> style.Figure:
    """Returns the drawing, with a panel for each task."""
    tasks = list(dict.fromkeys(point.task for point in data.rows))
    figure, panels = style.canvas(
        "How much of the text the large model must write to reach its own quality",
        source="As Kim et al. 2023 (BiLD), Figure 2, which replaces single tokens; the line at "
        f"{PUBLISHED_SHARE} % is where they find the large model's quality retained; "
        f"{SOURCE}",
        columns=len(tasks),
        width=3.9 * len(tasks) + 1.0,
    )
    for axes, task in zip(panels, tasks, strict=True):
        points = [point for point in data.rows if point.task == task]
        [large] = [point for point in points if point.decoder == "large"]
        axes.axhline(large.quality, color=style.GREY, linewidth=1)
        paper = f"paper: {PUBLISHED_SHARE} %"
        axes.axvline(PUBLISHED_SHARE, color=style.ORANGE, linewidth=1, linestyle="--", label=paper)
        alone = [point for point in points if point.decoder in ("large", "small")]
        axes.plot(*_columns(alone), "X", color=style.INK, markersize=9, label="either alone")
        bild = [point for point in points if point.decoder in ("bild", "window")]
        thresholds = list(dict.fromkeys(point.rollback for point in bild))
        for threshold, (mark, colour) in zip(thresholds, style.marks(), strict=False):
            own = [point for point in bild if point.rollback == threshold]
            own.sort(key=lambda point: point.large_percent)
            name = "no rollback" if threshold is None else f"rollback {threshold:g}"
            axes.plot(*_columns(own), mark, color=colour, markersize=5.5, label=name)
        axes.set_xlim(-4, 104)
        style.name_axes(
            axes, x="tokens written by the large model, %", y=METRICS[points[0].metric], panel=task
        )
    style.key(panels[-1], anchor=(1.03, 0.0))
    return figure


def _columns(points: list[SharePoint]) -> tuple[list[float], list[float]]:
    return [point.large_percent for point in points], [point.quality for point in points]
