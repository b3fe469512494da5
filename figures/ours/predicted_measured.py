"""Ours: predicted against measured speed-up, with the diagonal and a band of 5 %."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from estimator.validation.file import Validated
from figures.drawing import style
from figures.drawing.style import short_name
from figures.drawing.table import FigureRows
from figures.files import save_image
from figures.published import LeviathanTable4, published

BAND = 0.05


@dataclass(frozen=True, slots=True)
class ValidationPoint:
    """One setting; low and high bound the measurement, None if unknown."""

    setting: str
    draft: str
    temperature: float
    predicted: float
    measured: float
    low: float | None
    high: float | None

    @property
    def within_band(self) -> bool:
        """Whether the prediction lies within 5 % of the measurement."""
        return abs(self.predicted / self.measured - 1) <= BAND


def compute(results: Validated | None = None) -> FigureRows[ValidationPoint]:
    """Returns the predicted rows of a validation; without results, the paper's Table 4.

    Raises ValueError if no row of the results has a prediction.
    """
    if results is None:
        printed = tuple(
            ValidationPoint(
                f"{row.task} {row.draft}", row.draft, float(row.temperature), row.expected,
                row.empirical, None, None,
            )
            for row in published("leviathan-table4", LeviathanTable4)
        )  # fmt: skip
        return FigureRows(printed)
    points = tuple(
        ValidationPoint(
            f"{short_name(row.draft)}, {row.policy if row.gamma is None else f'γ = {row.gamma}'}",
            row.draft, row.temperature, row.predicted, row.measured, row.measured_low,
            row.measured_high,
        )
        for row in results.rows
        if row.predicted is not None
    )  # fmt: skip
    if not points:
        raise ValueError(f"{results.name} has no row with a prediction")
    return FigureRows(points, results.name)


def save(results: Validated, path: Path) -> None:
    """Draws a validation into one image file."""
    save_image(draw(compute(results)), path)


def draw(data: FigureRows[ValidationPoint]) -> style.Figure:
    """Returns the drawing: marks by temperature, colours by draft, and the diagonal."""
    inside = sum(point.within_band for point in data.rows)
    drafts = list(dict.fromkeys(point.draft for point in data.rows))
    longest = max(len("temperature 0"), *(len(short_name(draft)) for draft in drafts))
    whose = "published predictions" if data.caption is None else "predictions"
    figure, (axes,) = style.canvas(
        f"{inside} of {len(data.rows)} {whose} lie within 5 % of the measurement",
        source="Leviathan et al. 2023, Table 4: its expected and its measured speed-ups "
        "(no results file was given)"
        if data.caption is None
        else f"Ours, {data.caption}: replay, costs calibrated; bars: interval of the measurement",
        width=6.0 + 0.085 * longest,  # a square with the legend on its right
        height=6.0,
    )
    values = [
        value
        for point in data.rows
        for value in (point.predicted, point.measured, point.low, point.high)
        if value is not None
    ]
    low, high = 0.94 * min(*values, 1.0), 1.06 * max(values)
    below, above_it = ([low * side, high * side] for side in (1 - BAND, 1 + BAND))
    axes.fill_between([low, high], below, above_it, color=style.PALE, linewidth=0, label="5 % band")
    axes.plot([low, high], [low, high], color=style.GREY, linewidth=1)
    colours = dict(zip(drafts, cycle((*style.CYCLE, style.GREY)), strict=False))
    for draft, colour in colours.items():
        axes.plot([], [], color=colour, linewidth=5, label=short_name(draft))
    temperatures = sorted({point.temperature for point in data.rows})
    marks = dict(zip(temperatures, cycle(style.MARKS), strict=False))
    for temperature, mark in marks.items():
        axes.plot([], [], mark, color=style.INK, label=f"temperature {temperature:g}")
    for point in data.rows:
        colour, mark = colours[point.draft], marks[point.temperature]
        if point.low is not None and point.high is not None:
            ends, level = [point.low, point.high], [point.predicted, point.predicted]
            axes.plot(ends, level, color=colour, linewidth=1.2)
        axes.plot(point.measured, point.predicted, mark, color=colour, markersize=6.5)
    worst = max(data.rows, key=lambda point: abs(point.predicted / point.measured - 1))
    # In the corner on its own side of the diagonal, away from the other points.
    above = worst.predicted > worst.measured
    axes.annotate(
        f"worst: {worst.setting}\ntemperature {worst.temperature:g}: "
        f"{100 * (worst.predicted / worst.measured - 1):+.0f} %",
        (worst.measured, worst.predicted),
        xytext=(0.02, 0.98) if above else (0.98, 0.02), textcoords="axes fraction",
        ha="left" if above else "right", va="top" if above else "bottom",
        fontsize=style.TEXT_SIZE - 1, color=style.INK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
        arrowprops={"arrowstyle": "-", "color": style.INK, "linewidth": 0.7, "shrinkB": 4},
    )  # fmt: skip
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_aspect("equal")
    style.name_axes(axes, x="measured speed-up", y="predicted speed-up")
    style.key(axes, anchor=(1.03, 0.0))
    return figure
