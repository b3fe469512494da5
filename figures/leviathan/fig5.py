"""Leviathan et al. 2023, Figure 5: traces of one text with γ = 7, γ = 3 and standard decoding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from figures.drawing import style
from figures.drawing.table import FigureRows

# Chosen for a clear picture; the paper's figure states no numbers. The unit is one target call.
ALPHA = 0.8
C = 0.1
TOKENS = 30
TARGET_ENCODER = 1.5
DRAFT_ENCODER = 0.4
GAMMAS = (7, 3, 0)
SEED = 1  # 24 of 30 drafted tokens are accepted, exactly the share α
COLOURS = {
    "target encoder": style.ORANGE,
    "draft encoder": style.VERMILION,
    "draft": style.SKY,
    "target": style.PURPLE,
}


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One forward pass of a decoder; γ = 0 is standard decoding.

    call: the part of a model, one of COLOURS.
    """

    gamma: int
    call: str
    start: float
    duration: float

    @property
    def end(self) -> float:
        return self.start + self.duration


def compute() -> FigureRows[TracedCall]:
    """Returns one trace per γ over the same TOKENS positions, each accepted with probability α."""
    accepted = np.random.default_rng(SEED).random(TOKENS) < ALPHA
    return FigureRows(tuple(call for gamma in GAMMAS for call in _trace(gamma, accepted)))


def _trace(gamma: int, accepted: NDArray[np.bool_]) -> list[TracedCall]:
    """Returns Algorithm 1 as calls: both encoders, then blocks of drafts and a target call."""
    calls: list[TracedCall] = []

    def run(part: str, duration: float) -> None:
        calls.append(TracedCall(gamma, part, calls[-1].end if calls else 0.0, duration))

    run("target encoder", TARGET_ENCODER)
    if gamma > 0:
        run("draft encoder", DRAFT_ENCODER)
    position = 0
    while position < accepted.size:
        drafted = min(gamma, accepted.size - position - 1)
        for _ in range(drafted):
            run("draft", C)
        run("target", 1.0)
        wrong = np.flatnonzero(~accepted[position : position + drafted])
        position += 1 + (int(wrong[0]) if wrong.size else drafted)
    return calls


def draw(data: FigureRows[TracedCall]) -> style.Figure:
    """Returns the drawing: one row of blocks for each trace."""
    figure, (axes,) = style.canvas(
        f"Decoding the same {TOKENS} tokens: cheap drafts in place of target calls",
        source=f"Leviathan et al. 2023, Figure 5, for a draft with α = {ALPHA:g} and "
        f"c = {C:g}; encoders drawn to no particular scale",
        width=10.4,
        height=3.4,
    )
    named: set[str] = set()
    for row, gamma in enumerate(GAMMAS):
        trace = [call for call in data.rows if call.gamma == gamma]
        for call in trace:
            axes.barh(
                row, call.duration, left=call.start, height=0.55, color=COLOURS[call.call],
                edgecolor="white", linewidth=0.3 if call.call == "draft" else 0.8,
                label=None if call.call in named else call.call,
            )  # fmt: skip
            named.add(call.call)
        count = f"{sum(call.call == 'target' for call in trace)} target calls"
        style.note(axes, count, (trace[-1].end, row), offset=(6, 0), align="left center")
    axes.set_yticks(
        range(len(GAMMAS)), [f"γ = {gamma}" if gamma else "standard" for gamma in GAMMAS]
    )
    axes.invert_yaxis()
    axes.set_xlim(0, max(call.end for call in data.rows))
    axes.grid(visible=False, axis="y")
    style.name_axes(axes, x="time (one target decoder call = 1)", y="")
    style.key(axes, anchor=(0.0, 1.02), columns=4)
    return figure
