"""Ours: the speed-up by γ and by the confidence below which a draft ends."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from figures.drawing import style
from figures.drawing.table import Curves, curves

# The answers of `specplan plan --p-min auto --json` for profiles of the embedded target.
DRAFTS = {"embedded": "embedded draft model", "eagle3": "embedded EAGLE-3 head"}
FORMER_DEFAULT = 0.75  # llama.cpp's, until pull request 22506


def compute() -> Curves:
    """Returns the predicted speed-ups by threshold, for each draft and γ; 0 is a fixed γ."""
    lines: dict[str, list[float]] = {}
    for draft in DRAFTS:
        file = files("figures") / "results" / "p_min" / f"{draft}.json"
        points = json.loads(file.read_text(encoding="utf-8"))["curve"]
        for each in points:
            line = lines.setdefault(f"{draft} gamma {each['gamma']}", [])
            line.append(each["improvement_factor"])
        thresholds = sorted({each["p_min"] for each in points})
    return curves(
        "p_min", np.array(thresholds), {name: np.array(line) for name, line in lines.items()}
    )


def grid(data: Curves, draft: str) -> NDArray[np.float64]:
    """Returns a draft's speed-ups, shape (thresholds, γ), γ from 1."""
    lines = [line for name, line in data.lines.items() if name.startswith(f"{draft} ")]
    return np.array(lines).T


def change(data: Curves, draft: str, p_min: float | None = None) -> float:
    """Returns the best speed-up over the best fixed γ's, minus 1.

    p_min: the threshold; None: the best one.
    """
    factors = grid(data, draft)
    at = factors if p_min is None else factors[data.x.index(p_min)]
    return float(at.max() / factors[0].max() - 1)


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: a heat map for each draft, with its best cell and its best fixed γ."""
    gains = " and ".join(f"{change(data, draft):.1%}" for draft in DRAFTS)
    losses = " and ".join(f"{-change(data, draft, FORMER_DEFAULT):.0%}" for draft in DRAFTS)
    figure, panels = style.canvas(
        f"Ending unsure drafts gains at most {gains} over the best fixed γ; a threshold of "
        f"{FORMER_DEFAULT:g} loses {losses}",
        source="Ours: replay of recorded texts by llama.cpp's rule, temperature 0, costs measured "
        "on one core of an AMD EPYC virtual machine, 2026-11-23; the gains were chosen on these "
        "texts, and their intervals include 0 (specplan plan --p-min auto)",
        columns=2,
        width=11.0,
        height=5.0,
    )
    for axes, (draft, name) in zip(panels, DRAFTS.items(), strict=True):
        factors = grid(data, draft)
        gammas = np.arange(1, factors.shape[1] + 1)
        heat = axes.pcolormesh(gammas, data.x, factors, cmap="cividis", rasterized=True)
        best, fixed = (
            np.unravel_index(each.argmax(), each.shape) for each in (factors, factors[:1])
        )
        for (row, column), mark, what in ((best, "o", "best"), (fixed, "D", "best fixed γ")):
            x, y = int(gammas[column]), data.x[row]
            axes.plot(x, y, mark, color=style.VERMILION, markeredgecolor="white", markersize=8)
            _boxed(axes, f"{what}: {factors[row, column]:.2f}×", (x + 0.04 * gammas[-1], y))
        axes.axhline(FORMER_DEFAULT, color="white", linewidth=1.2, linestyle=(0, (4, 2)))
        _boxed(axes, "llama.cpp's former default", (1, FORMER_DEFAULT))
        axes.grid(visible=False)
        style.count_on(axes.xaxis)
        style.name_axes(axes, x="longest draft, γ", y="threshold p_min", panel=name)
        bar = figure.colorbar(heat, ax=axes, pad=0.02)
        bar.ax.tick_params(labelsize=style.TEXT_SIZE - 0.5)
    bar.set_label("speed-up over standard decoding", fontsize=style.TEXT_SIZE, color=style.INK)
    return figure


def _boxed(axes: style.Axes, text: str, at: tuple[float, float]) -> None:
    """Writes a remark in a white box, readable on any colour."""
    axes.text(
        *at, text, color=style.INK, fontsize=style.TEXT_SIZE - 1, va="center",
        bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 2},
    )  # fmt: skip
