"""Ours: predicted against measured speed-up, with the diagonal and a band of 5 %."""

from itertools import cycle
from typing import Any

from estimator.validation.file import Validated
from figures import drawing
from figures.drawing import short_name
from figures.numbers import Numbers, numbers, published

BAND = 0.05


def within_band(point: Any) -> bool:
    """Returns whether the prediction lies within 5 % of the measurement."""
    return bool(abs(point.predicted / point.measured - 1) <= BAND)


def compute(results: Validated | None = None) -> Numbers:
    """Returns predicted and measured speed-ups of the results; None: of the paper's Table 4.

    Refuses results without a prediction.

    low, high: interval of the measured speed-up; None if unknown.
    """
    names = "setting draft temperature predicted measured low high"
    if results is None:
        printed = [
            (
                *(f"{row.task} {row.draft}", row.draft, float(row.temperature)),
                *(row.expected, row.empirical, None, None),
            )
            for row in published("leviathan-table4")
        ]
        return numbers(names, printed)
    points = [
        (
            f"{short_name(row.draft)}, {row.policy if row.gamma is None else f'γ = {row.gamma}'}",
            *(row.draft, row.temperature, row.predicted),
            *(row.measured, row.measured_low, row.measured_high),
        )
        for row in results.rows
        if row.predicted is not None
    ]
    if not points:
        raise ValueError(f"{results.name} has no row with a prediction")
    return numbers(names, points, results.name)


def draw(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws predicted against measured speed-ups: marks by temperature, colours by draft."""
    inside, drafts = sum(map(within_band, data)), data.distinct("draft")
    longest = max(len("temperature 0"), *(len(short_name(draft)) for draft in drafts))
    whose = "published predictions" if data.caption is None else "predictions"
    origin = (
        "Leviathan et al. 2023, Table 4: its expected and its measured speed-ups (no results file "
        "was given)"
        if data.caption is None
        else f"Ours, {data.caption}: replay, costs calibrated; bars: interval of the measurement"
    )
    size = (6.0 + 0.085 * longest, 6.0)  # a square with the legend on its right
    figure, (axes,) = caption.canvas(
        size=size, inside=inside, all=len(data), whose=whose, origin=origin
    )
    columns = (data[name] for name in ("predicted", "measured", "low", "high"))
    values = [value for column in columns for value in column if value is not None]
    low, high = 0.94 * min(*values, 1.0), 1.06 * max(values)
    below, above_it = ([low * side, high * side] for side in (1 - BAND, 1 + BAND))
    axes.fill_between(
        [low, high], below, above_it, color=drawing.PALE, linewidth=0, label="5 % band"
    )
    axes.plot([low, high], [low, high], color=drawing.GREY, linewidth=1)
    colours = dict(zip(drafts, cycle((*drawing.CYCLE, drawing.GREY)), strict=False))
    for draft, colour in colours.items():
        axes.plot([], [], color=colour, linewidth=5, label=short_name(draft))
    temperatures = sorted(data.distinct("temperature"))
    marks = dict(zip(temperatures, cycle(drawing.MARKS), strict=False))
    for temperature, mark in marks.items():
        axes.plot([], [], mark, color=drawing.INK, label=f"temperature {temperature:g}")
    for point in data:
        colour, mark = colours[point.draft], marks[point.temperature]
        if point.low is not None and point.high is not None:
            ends, level = [point.low, point.high], [point.predicted, point.predicted]
            axes.plot(ends, level, color=colour, linewidth=1.2)
        axes.plot(point.measured, point.predicted, mark, color=colour, markersize=6.5)
    worst = max(data, key=lambda point: abs(point.predicted / point.measured - 1))
    # In the corner on its own side of the diagonal, away from the other points.
    above = worst.predicted > worst.measured
    axes.annotate(
        f"worst: {worst.setting}\ntemperature {worst.temperature:g}: "
        f"{100 * (worst.predicted / worst.measured - 1):+.0f} %",
        (worst.measured, worst.predicted),
        xytext=(0.02, 0.98) if above else (0.98, 0.02), textcoords="axes fraction",
        ha="left" if above else "right", va="top" if above else "bottom",
        fontsize=drawing.TEXT_SIZE - 1, color=drawing.INK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
        arrowprops={"arrowstyle": "-", "color": drawing.INK, "linewidth": 0.7, "shrinkB": 4},
    )  # fmt: skip
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    drawing.key(axes, anchor=(1.03, 0.0))
    return figure
