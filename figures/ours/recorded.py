"""Ours, from results files: thresholds of confidence, verification by rank, public measurements."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from figures import drawing
from figures.numbers import Numbers, columns, numbers, results

DRAFTS = ("embedded", "eagle3")
FORMER_DEFAULT = 0.75  # llama.cpp's, until pull request 22506


def compute_confidence() -> Numbers:
    """Returns the predicted speed-ups by confidence threshold, for each draft and γ.

    A draft ends early when the draft model's confidence falls below the threshold; at threshold 0
    it always has γ tokens. Source: `specplan plan --p-min auto --json` for the embedded target.
    """
    lines: dict[str, list[float]] = {}
    for draft in DRAFTS:
        curve = results(f"p_min/{draft}").curve
        for point in curve:
            line = lines.setdefault(f"{draft} gamma {point.gamma}", [])
            line.append(point.improvement_factor)
    return columns({"p_min": sorted({point.p_min for point in curve}), **lines})


def grid(data: Numbers, draft: str) -> NDArray[np.float64]:
    """Returns the speed-ups of one draft, shape (thresholds, γ), γ from 1."""
    return np.array([data[name] for name in data.names if name.startswith(f"{draft} ")]).T


def change(data: Numbers, draft: str, p_min: float | None = None) -> float:
    """Returns the best speed-up at a threshold (None: any) / the best at threshold 0, minus 1."""
    factors = grid(data, draft)
    at = factors if p_min is None else factors[data["p_min"].index(p_min)]
    return float(at.max() / factors[0].max() - 1)


def draw_confidence(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws a heat map of speed-ups by γ and threshold for each draft; the best are marked."""
    gains = " and ".join(f"{change(data, draft):.1%}" for draft in DRAFTS)
    losses = " and ".join(f"{-change(data, draft, FORMER_DEFAULT):.0%}" for draft in DRAFTS)
    figure, panels = caption.canvas(gains=gains, losses=losses, default=FORMER_DEFAULT)
    thresholds = data["p_min"]
    for axes, draft in zip(panels, DRAFTS, strict=True):
        factors = grid(data, draft)
        gammas = np.arange(1, factors.shape[1] + 1)
        heat = axes.pcolormesh(gammas, thresholds, factors, cmap="cividis", rasterized=True)
        for among, mark, what in ((factors, "o", "best"), (factors[:1], "D", "best fixed γ")):
            row, column = np.unravel_index(among.argmax(), among.shape)
            x, y = int(gammas[column]), thresholds[row]
            axes.plot(x, y, mark, color=drawing.VERMILION, markeredgecolor="white", markersize=8)
            _boxed(axes, f"{what}: {factors[row, column]:.2f}×", (x + 0.04 * gammas[-1], y))
        axes.axhline(FORMER_DEFAULT, color="white", linewidth=1.2, linestyle=(0, (4, 2)))
        _boxed(axes, "llama.cpp's former default", (1, FORMER_DEFAULT))
        axes.grid(visible=False)
        drawing.count_on(axes.xaxis)
        label = "" if axes is panels[0] else "speed-up over standard decoding"
        drawing.colour_bar(figure, heat, axes, label=label)
    return figure


def _boxed(axes: drawing.Axes, text: str, at: tuple[float, float]) -> None:
    """Writes a remark in a white box, readable on any colour."""
    axes.text(
        *at, text, color=drawing.INK, fontsize=drawing.TEXT_SIZE - 1, va="center",
        bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 2},
    )  # fmt: skip


# A gain by its name in drawings: the faster way, and the way that it is compared with.
GAINS = {
    "rank, over one K": ("rank", "one_k"),
    "rank, over K by batch": ("rank", "k_by_batch"),
    "oracle, over K by batch": ("oracle", "k_by_batch"),
}
BUDGETS = ("walk", "previous_step")


def compute_ranks() -> Numbers:
    """Returns the gain of verification by rank in %, by batch size, for each comparison in GAINS.

    By rank: each step verifies the drafted tokens of the batch that are likeliest to be accepted.
    Two rules choose how many tokens a step verifies; the faster one is used.
    Source: `specplan plan --verification adaptive --json`.
    """
    lines = {}
    for draft in DRAFTS:
        rows = results(f"adaptive/{draft}").rows
        for name, (way, other) in GAINS.items():
            fast = _speeds(rows, *(BUDGETS if way == "rank" else (way,)))
            lines[f"{draft} {name}"] = 100 * (fast / _speeds(rows, other) - 1)
    return columns({"batch": [row.batch for row in rows], **lines})


def _speeds(rows: Sequence[object], *methods: str) -> NDArray[np.float64]:
    """Returns the largest speed-up among some methods of verification, by batch size."""
    return np.array([max(vars(row)[method].speed_up for method in methods) for row in rows])


def gain(data: Numbers, draft: str, name: str) -> NDArray[np.float64]:
    """Returns a gain of `compute_ranks`, in % by batch size, for one draft and a key of GAINS."""
    return np.array(data[f"{draft} {name}"])


def draw_ranks(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws the gain of verification by rank against the batch size, a panel per draft."""
    most = max(gain(data, draft, "rank, over K by batch").max() for draft in DRAFTS)
    figure, panels = caption.canvas(most=most)
    every, batches = [data[name] for name in data.names[1:]], data["batch"]
    for axes, draft in zip(panels, DRAFTS, strict=True):
        for shown, (mark, colour) in zip(GAINS, drawing.marks(), strict=False):
            axes.plot(
                batches, gain(data, draft, shown), color=colour, marker=mark, label=shown,
                linewidth=2, markersize=5,
            )  # fmt: skip
        axes.axhline(0, color=drawing.INK, linewidth=1)
        axes.set_ylim(np.min(every) - 1, 1.05 * np.max(every))
        drawing.octaves_on_x(axes, batches)
    drawing.key(panels[0], anchor=(0.03, 0.72))
    return figure


def compute_public() -> Numbers:
    """Returns published speed-ups whose accepted length is also published, and two predictions.

    measured: the published speed-up.
    before: prediction of the roofline.
    predicted: prediction of the roofline, corrected by a fit to the other sources' measurements.
    """
    numbers_by_name = vars(results("published_speculation"))
    names = "draft measured before predicted"
    return numbers(names, zip(*(numbers_by_name[name] for name in names.split()), strict=True))


def draw_public(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws predicted against measured speed-ups, a panel for each kind of prediction."""
    names = ("before", "predicted")
    before, now = (np.abs(np.divide(data[name], data["measured"]) - 1).mean() for name in names)
    figure, panels = caption.canvas(count=len(data), before=before, now=now)
    values = [data[name] for name in data.names[1:]]
    low, high = 0.9 * np.min(values), 1.1 * np.max(values)
    colours, marks = cycle(drawing.CYCLE), cycle(drawing.MARKS[1:])
    looks = list(zip(sorted(data.distinct("draft")), colours, marks, strict=False))
    for panel, name in zip(panels, names, strict=True):
        panel.plot([low, high], [low, high], color=drawing.GREY, linewidth=1)
        for line in (panel.axhline, panel.axvline):
            line(1, color=drawing.PALE, linewidth=1)
        for draft, colour, mark in looks:
            rows = data.where(draft=draft)
            panel.plot(
                rows["measured"], rows[name], mark, color=colour, markersize=3.2, alpha=0.6,
                linestyle="none", label=draft,
            )  # fmt: skip
        panel.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
        ticks = [tick for tick in (0.25, 0.5, 1, 2, 4) if low < tick < high]
        for put in (panel.set_xticks, panel.set_yticks):
            put(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
    drawing.key(panels[1], anchor=(1.03, 0.0))
    return figure
