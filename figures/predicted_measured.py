"""Ours: predicted against measured speed-up, with the diagonal and a band of 5 %."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures import leviathan_table4
from figures.files import save_image
from figures.results import Results, parse_results
from figures.table import Table, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAND = 0.05


@dataclass(frozen=True, slots=True)
class Point:
    """One setting; low and high bound the measurement, None where that is not known."""

    setting: str
    temperature: float
    predicted: float
    measured: float
    low: float | None
    high: float | None

    @property
    def within_band(self) -> bool:
        """Whether the prediction lies within 5 % of the measurement."""
        return abs(self.predicted / self.measured - 1) <= BAND


@dataclass(frozen=True, slots=True)
class PredictedMeasured:
    """The points, and the results file they are from; None: the paper's Table 4."""

    points: tuple[Point, ...]
    results: str | None

    def table(self) -> Table:
        return table_of(self.points)


def compute(results: Results | None = None) -> PredictedMeasured:
    """Returns the validated settings, or without results the published ones.

    Args:
      results: of a validation; its calibrated predictions are used, and rows without one left out.

    Raises:
      ValueError: if no row of the results has a prediction.
    """
    if results is None:
        return PredictedMeasured(
            points=tuple(
                Point(
                    setting=f"{row.task} {row.draft}",
                    temperature=float(row.temperature),
                    predicted=row.published_expected,
                    measured=row.published_empirical,
                    low=None,
                    high=None,
                )
                for row in leviathan_table4.compute().rows
            ),
            results=None,
        )
    points = tuple(
        Point(
            setting=f"{row.draft}, {row.policy if row.gamma is None else f'γ = {row.gamma}'}",
            temperature=row.temperature,
            predicted=row.predicted,
            measured=row.measured,
            low=row.low,
            high=row.high,
        )
        for row in results.rows
        if row.predicted is not None
    )
    if not points:
        raise ValueError(f"{results.name} has no row with a predicted_calibrated")
    return PredictedMeasured(points, results.name)


def save(document: Mapping[str, Any], path: Path) -> None:
    """Draws a validation, as `specplan validate --json` prints it, into one image file.

    Raises:
      ValueError: if the document has no rows that can be drawn, or the file is no PNG or SVG.
      OSError: if the file cannot be written.
    """
    save_image(draw(compute(parse_results(document, name="this validation"))), path)


def draw(data: PredictedMeasured) -> Figure:
    """Returns the drawing: one mark for each setting, by temperature, with the diagonal."""
    from figures import style

    inside = sum(point.within_band for point in data.points)
    whose = "published predictions" if data.results is None else "predictions"
    figure, (axes,) = style.canvas(
        f"{inside} of {len(data.points)} {whose} lie within 5 % of the measurement",
        source="Leviathan et al. 2023, Table 4, EXP against EMP (no results file was given)"
        if data.results is None
        else f"Ours, {data.results}: replay, costs calibrated; bars: interval of the measurement",
        width=6.4,
        height=6.0,
    )
    values = [
        value
        for point in data.points
        for value in (point.predicted, point.measured, point.low, point.high)
        if value is not None
    ]
    low, high = 0.94 * min(*values, 1.0), 1.06 * max(values)
    axes.fill_between(
        [low, high],
        [low * (1 - BAND), high * (1 - BAND)],
        [low * (1 + BAND), high * (1 + BAND)],
        color=style.PALE,
        linewidth=0,
        label="5 % band",
    )
    axes.plot([low, high], [low, high], color=style.GREY, linewidth=1)
    temperatures = sorted({point.temperature for point in data.points})
    for temperature, (mark, colour) in zip(temperatures, style.marks(), strict=False):
        for i, point in enumerate(p for p in data.points if p.temperature == temperature):
            if point.low is not None and point.high is not None:
                axes.plot(
                    [point.low, point.high],
                    [point.predicted, point.predicted],
                    color=colour,
                    linewidth=1.2,
                )
            axes.plot(
                point.measured,
                point.predicted,
                mark,
                color=colour,
                markersize=6.5,
                label=f"temperature {temperature:g}" if i == 0 else None,
            )
    worst = max(data.points, key=lambda point: abs(point.predicted / point.measured - 1))
    axes.annotate(
        f"{worst.setting}\n{100 * (worst.predicted / worst.measured - 1):+.0f} %",
        (worst.measured, worst.predicted),
        xytext=(7, 3) if worst.predicted < worst.measured else (0, 7),
        textcoords="offset points",
        fontsize=style.TEXT_SIZE - 1,
        color=style.INK,
    )
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_aspect("equal")
    style.name_axes(axes, x="measured speed-up", y="predicted speed-up")
    style.key(axes, anchor=(0.03, 0.84))
    return figure
