"""Ours: the gain of verification by rank at each batch size, and the gain of an oracle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figures.drawing import style
from figures.drawing.table import Curves, curves
from figures.ours.confidence_map import DRAFTS

# A gain by its name in drawings: the faster way, and the way that it is compared with.
GAINS = {
    "rank, over one K": ("rank", "one_k"),
    "rank, over K by batch": ("rank", "k_by_batch"),
    "oracle, over K by batch": ("oracle", "k_by_batch"),
}
BUDGETS = ("walk", "previous_step")


def compute() -> Curves:
    """Returns the gains in percent by batch size, for the texts of each draft.

    They come from the answers of `specplan plan --verification adaptive --json`. Verification by
    rank has the better of its two budgets.
    """
    lines = {}
    for draft in DRAFTS:
        file = files("figures") / "results" / "adaptive" / f"{draft}.json"
        rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
        for name, (way, other) in GAINS.items():
            fast = speeds(rows, BUDGETS if way == "rank" else (way,))
            lines[f"{draft} {name}"] = 100 * (fast / speeds(rows, (other,)) - 1)
    return curves("batch", np.array([each["batch"] for each in rows]), lines)


def speeds(rows: Sequence[Mapping[str, Any]], ways: Sequence[str]) -> NDArray[np.float64]:
    """Returns the speed-up of the fastest of some ways, by batch size."""
    return np.array([max(batch[way]["speed_up"] for way in ways) for batch in rows])


def gain(data: Curves, draft: str, name: str) -> NDArray[np.float64]:
    """Returns a draft's gain of that name in percent, by batch size."""
    return np.array(data.lines[f"{draft} {name}"])


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: a panel for each draft, a line for each gain."""
    most = max(gain(data, draft, "rank, over K by batch").max() for draft in DRAFTS)
    figure, panels = style.canvas(
        f"Against the best K of each batch, verification by rank gains at most {most:.0f} %",
        source="Ours: recorded texts of the embedded models, played in batches at the modelled "
        "costs of Llama 3.3 70B with Llama 3.2 1B or its EAGLE-3 head on four H100, 2026-11-23 "
        "(specplan plan --verification adaptive). One K: the best for all of these batch sizes; "
        "rank: the better of both budgets; oracle: knows which tokens will be accepted",
        columns=2,
        width=11.0,
    )
    highest = 1.05 * max(map(max, data.lines.values()))
    lowest = min(map(min, data.lines.values())) - 1
    for axes, (draft, name) in zip(panels, DRAFTS.items(), strict=True):
        for each, (mark, colour) in zip(GAINS, style.marks(), strict=False):
            axes.plot(
                data.x, gain(data, draft, each), color=colour, marker=mark, label=each,
                linewidth=2, markersize=5,
            )  # fmt: skip
        axes.axhline(0, color=style.INK, linewidth=1)
        axes.set_ylim(lowest, highest)
        style.octaves_on_x(axes, [int(batch) for batch in data.x])
        style.name_axes(
            axes, x="sequences decoded together", y="faster, %", panel=f"texts of the {name}"
        )
    style.key(panels[0], anchor=(0.03, 0.72))
    return figure
