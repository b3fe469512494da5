"""Ours: speed-ups that others published, with our predictions and the bare roofline's."""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import cycle

import numpy as np

from figures.drawing import style
from figures.drawing.table import Curves

SOURCE = (
    "Ours, benchmarks/published_speculation.py: accepted lengths given, each row predicted without "
    "any row of its source; figures/results/published_speculation.json"
)


def mean_error(data: Curves, name: str) -> float:
    """Returns the mean absolute relative error of the column "before" or "predicted"."""
    return float(np.abs(np.divide(data.lines[name], data.lines["measured"]) - 1).mean())


def compute() -> Curves:
    """Returns the benchmark's measurements with a known accepted length, by draft.

    before: speed-up by the bare roofline. predicted: speed-up with the prior of other sources.
    """
    path = files("figures") / "results" / "published_speculation.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    lines = {name: tuple(found[name]) for name in ("measured", "before", "predicted")}
    return Curves("draft", tuple(found["draft"]), lines)


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: predicted against measured, in two panels, with a colour per draft."""
    before, now = mean_error(data, "before"), mean_error(data, "predicted")
    figure, panels = style.canvas(
        f"{len(data.x)} public measurements: off by {before:.0%} by the bare roofline, "
        f"by {now:.0%} with a prior from other sources",
        source=SOURCE,
        columns=2,
        width=10.0,
        height=5.4,
    )
    values = [value for line in data.lines.values() for value in line]
    low, high = 0.9 * min(values), 1.1 * max(values)
    drafts = sorted(set(data.x))
    marks = dict(zip(drafts, zip(cycle(style.CYCLE), cycle(style.MARKS[1:])), strict=False))
    titles = {"before": "the bare roofline", "predicted": "prior of other sources"}
    for panel, (name, title) in zip(panels, titles.items(), strict=True):
        panel.plot([low, high], [low, high], color=style.GREY, linewidth=1)
        panel.axhline(1, color=style.PALE, linewidth=1)
        panel.axvline(1, color=style.PALE, linewidth=1)
        for draft, (colour, mark) in marks.items():
            own = [at for at, each in enumerate(data.x) if each == draft]
            measured, said = ([data.lines[each][at] for at in own] for each in ("measured", name))
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
