"""Quality against latency, as in Figures 4, 5 and 10 of Kim et al. 2023."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from figures.bild.measured import SOURCE, MeasuredRow, MeasuredSweep
from figures.drawing import style
from figures.drawing.table import FigureRows

METRICS = {"bleu": "BLEU", "agreement": "agreement with the large model, %", "rouge_l": "ROUGE-L"}


@dataclass(frozen=True, slots=True)
class TradeOffPoint:
    """One run of BiLD.

    decoder: "bild", or "window": drafts of `most` tokens without a fallback.
    rollback: BiLD's threshold; None without one.
    latency: seconds per token over the large model's.
    """

    task: str
    draft: str
    decoder: str
    fallback: float | None
    rollback: float | None
    most: int | None
    latency: float
    quality: float


@dataclass(frozen=True, slots=True)
class TradeOff(FigureRows[TradeOffPoint]):
    """Runs of BiLD, and their sweeps."""

    sweeps: tuple[MeasuredSweep, ...]


def trade_off(sweeps: Sequence[MeasuredSweep], *, decoders: Sequence[str]) -> TradeOff:
    """Returns the sweeps' runs with these decoders."""
    return TradeOff(
        rows=tuple(
            TradeOffPoint(
                sweep.task,
                sweep.draft,
                row.decoder,
                row.fallback,
                row.rollback,
                row.most,
                row.latency,
                row.score,
            )
            for sweep in sweeps
            for decoder in decoders
            for row in sweep.of(decoder)
        ),
        sweeps=tuple(sweeps),
    )


def panels(
    data: TradeOff, *, title: str, source: str
) -> tuple[style.Figure, list[tuple[style.Axes, MeasuredSweep]]]:
    """Returns a canvas with a prepared panel for each sweep."""
    figure, axes = style.canvas(
        title,
        source=f"{source}; lines: the large model's quality and one point below; {SOURCE}",
        columns=len(data.sweeps),
        width=3.9 * len(data.sweeps) + 1.6,
    )
    prepared = list(zip(axes, data.sweeps, strict=True))
    for panel, sweep in prepared:
        prepare(panel, sweep, panel=f"{sweep.task}, {sweep.draft}")
    return figure, prepared


def front(rows: Sequence[MeasuredRow]) -> list[MeasuredRow]:
    """Returns the Pareto front of quality and speed, fastest row first."""
    kept = [
        row
        for row in rows
        if not any(
            other.score >= row.score
            and other.measured >= row.measured
            and (other.score, other.measured) != (row.score, row.measured)
            for other in rows
        )
    ]
    return sorted(kept, key=lambda row: row.latency)


def aims(axes: style.Axes, quality: float) -> None:
    """Draws the large model's quality and one point below."""
    for height, dashes in ((quality, "-"), (quality - 1, ":")):
        axes.axhline(height, color=style.GREY, linewidth=1, linestyle=dashes)


def prepare(axes: style.Axes, sweep: MeasuredSweep, *, panel: str) -> None:
    """Draws the large model's mark, its quality and one point below, and names the axes."""
    quality = sweep.large.score
    aims(axes, quality)
    axes.plot(1, quality, "X", color=style.INK, markersize=9, label="large model alone", zorder=3)
    x, heading = "seconds per token over the large model's", f"{panel} ({sweep.prompts} prompts)"
    style.name_axes(axes, x=x, y=METRICS[sweep.large.metric], panel=heading)


def draw_rows(
    axes: style.Axes, rows: Sequence[MeasuredRow], *, name: str, colour: str, mark: str
) -> None:
    """Draws rows as marks, a line along their front."""
    best, every = ([(row.latency, row.score) for row in each] for each in (front(rows), rows))
    axes.plot(*_columns(best), color=colour, linewidth=1.8)
    axes.plot(*_columns(every), mark, color=colour, markersize=5.5, label=name)


def _columns(points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
