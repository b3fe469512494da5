"""Ours: speed-ups that others published, with our predictions and the bare roofline's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import cycle

import numpy as np

from figures.drawing import style
from figures.drawing.table import FigureRows

SOURCE = (
    "Ours, benchmarks/published_speculation.py: accepted lengths given, each row predicted without "
    "any row of its source; figures/results/published_speculation.json"
)


@dataclass(frozen=True, slots=True)
class PublicSpeedUp:
    """One published measurement: its draft, the measured speed-up and two predictions.

    before: by the bare roofline.
    predicted: with the prior of other sources.
    """

    draft: str
    measured: float
    before: float
    predicted: float


def mean_error(rows: Sequence[PublicSpeedUp], name: str) -> float:
    """Returns the mean absolute relative error of the field "before" or "predicted"."""
    return float(np.abs([getattr(row, name) / row.measured - 1 for row in rows]).mean())


def compute() -> FigureRows[PublicSpeedUp]:
    """Returns the benchmark's measurements with a known accepted length."""
    path = files("figures") / "results" / "published_speculation.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    columns = (found[column] for column in ("draft", "measured", "before", "predicted"))
    return FigureRows(tuple(PublicSpeedUp(*row) for row in zip(*columns, strict=True)))


def draw(data: FigureRows[PublicSpeedUp]) -> style.Figure:
    """Returns the drawing: predicted against measured, in two panels, with a colour per draft."""
    before = mean_error(data.rows, "before")
    now = mean_error(data.rows, "predicted")
    figure, panels = style.canvas(
        f"{len(data.rows)} public measurements: off by {before:.0%} by the bare roofline, "
        f"by {now:.0%} with a prior from other sources",
        source=SOURCE,
        columns=2,
        width=10.0,
        height=5.4,
    )
    values = [value for dot in data.rows for value in (dot.measured, dot.before, dot.predicted)]
    low, high = 0.9 * min(values), 1.1 * max(values)
    drafts = sorted({dot.draft for dot in data.rows})
    marks = dict(zip(drafts, zip(cycle(style.CYCLE), cycle(style.MARKS[1:])), strict=False))
    titles = {"before": "the bare roofline", "predicted": "prior of other sources"}
    for panel, (name, title) in zip(panels, titles.items(), strict=True):
        panel.plot([low, high], [low, high], color=style.GREY, linewidth=1)
        panel.axhline(1, color=style.PALE, linewidth=1)
        panel.axvline(1, color=style.PALE, linewidth=1)
        for draft, (colour, mark) in marks.items():
            dots = [dot for dot in data.rows if dot.draft == draft]
            measured, said = [dot.measured for dot in dots], [getattr(dot, name) for dot in dots]
            panel.plot(
                measured, said, mark, color=colour, markersize=3.2, alpha=0.6, linestyle="none",
                label=draft,
            )  # fmt: skip
        panel.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
        ticks = [tick for tick in (0.25, 0.5, 1, 2, 4) if low < tick < high]
        for put in (panel.set_xticks, panel.set_yticks):
            put(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
        panel.set_aspect("equal")
        style.name_axes(panel, x="measured speed-up", y="predicted speed-up", panel=title)
    style.key(panels[1], anchor=(1.03, 0.0))
    return figure
