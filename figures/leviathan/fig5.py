"""Leviathan et al. 2023, Figure 5: traces of one text with γ = 7, γ = 3 and standard decoding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from figures.drawing import style
from figures.drawing.table import Table

# Chosen for a clear picture; the paper's figure states no numbers. The unit is one target call.
ALPHA = 0.8
C = 0.1
TOKENS = 30
TARGET_ENCODER = 1.5
DRAFT_ENCODER = 0.4
GAMMAS = (7, 3, 0)
SEED = 1  # 24 of 30 drafted tokens are accepted, exactly the share α


@dataclass(frozen=True, slots=True)
class Call:
    """One forward pass: the part of a model, its start and its duration."""

    kind: str
    start: float
    duration: float


@dataclass(frozen=True, slots=True)
class TraceFigure:
    """The calls of one decoder in order of time; γ = 0 is standard decoding."""

    gamma: int
    calls: tuple[Call, ...]

    @property
    def target_calls(self) -> int:
        """Number of decoder passes of the target."""
        return sum(call.kind == "target" for call in self.calls)

    @property
    def end(self) -> float:
        """Time at which the last token is emitted."""
        return self.calls[-1].start + self.calls[-1].duration


@dataclass(frozen=True, slots=True)
class Fig5:
    """Traces that decode the same `tokens` tokens, with the same accepted positions."""

    tokens: int
    alpha: float
    c: float
    traces: tuple[TraceFigure, ...]

    def table(self) -> Table:
        return Table(
            ("gamma", "call", "start", "duration"),
            tuple(
                (trace.gamma, call.kind, call.start, call.duration)
                for trace in self.traces
                for call in trace.calls
            ),
        )


def compute() -> Fig5:
    """Returns the traces; each position is accepted or not by one draw with probability α."""
    accepted = np.random.default_rng(SEED).random(TOKENS) < ALPHA
    return Fig5(
        tokens=TOKENS, alpha=ALPHA, c=C, traces=tuple(_trace(gamma, accepted) for gamma in GAMMAS)
    )


def _trace(gamma: int, accepted: NDArray[np.bool_]) -> TraceFigure:
    """Returns Algorithm 1 as calls: both encoders, then blocks of drafts and a target call."""
    calls: list[Call] = []

    def run(kind: str, duration: float) -> None:
        start = calls[-1].start + calls[-1].duration if calls else 0.0
        calls.append(Call(kind, start, duration))

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
    return TraceFigure(gamma, tuple(calls))


def draw(data: Fig5) -> style.Figure:
    """Returns the drawing: one row of blocks for each trace."""
    figure, (axes,) = style.canvas(
        f"Decoding the same {data.tokens} tokens: cheap drafts in place of target calls",
        source=f"Leviathan et al. 2023, Figure 5, for a draft with α = {data.alpha:g} and "
        f"c = {data.c:g}; encoders drawn to no particular scale",
        width=10.4,
        height=3.4,
    )
    colours = {
        "target encoder": style.ORANGE,
        "draft encoder": style.VERMILION,
        "draft": style.SKY,
        "target": style.PURPLE,
    }
    named: set[str] = set()
    for row, trace in enumerate(data.traces):
        for call in trace.calls:
            axes.barh(
                row, call.duration, left=call.start, height=0.55, color=colours[call.kind],
                edgecolor="white", linewidth=0.3 if call.kind == "draft" else 0.8,
                label=None if call.kind in named else call.kind,
            )  # fmt: skip
            named.add(call.kind)
        told = f"{trace.target_calls} target calls"
        style.note(axes, told, (trace.end, row), offset=(6, 0), align="left center")
    axes.set_yticks(
        range(len(data.traces)),
        [f"γ = {trace.gamma}" if trace.gamma else "standard" for trace in data.traces],
    )
    axes.invert_yaxis()
    axes.set_xlim(0, max(trace.end for trace in data.traces))
    axes.grid(visible=False, axis="y")
    style.name_axes(axes, x="time (one target decoder call = 1)", y="")
    style.key(axes, anchor=(0.0, 1.02), columns=4)
    return figure
