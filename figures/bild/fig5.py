"""Kim et al. 2023 (BiLD), Figure 5: BiLD without its rollback, and without its fallback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.bild.measured import Sweep, measured
from figures.bild.trade_off import draw_rows, prepare
from figures.drawing.table import Table, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Point:
    """One run; fallback 0 is a fixed window of `most` tokens, rollback None is none."""

    task: str
    ablation: str
    fallback: float | None
    rollback: float | None
    most: int | None
    latency: float
    quality: float


@dataclass(frozen=True, slots=True)
class Fig5:
    """The runs of our pairs at temperature 0 that have both ablations."""

    points: tuple[Point, ...]
    sweeps: tuple[Sweep, ...]
    source: str

    def table(self) -> Table:
        return table_of(self.points)


def ablation(fallback: float | None, rollback: float | None) -> str:
    """Returns what a row of BiLD lacks."""
    if fallback == 0:
        return "no fallback" if rollback is not None else "neither"
    return "no rollback" if rollback is None else "BiLD"


def compute() -> Fig5:
    """Returns BiLD's rows by what they lack."""
    ours = measured()
    sweeps = tuple(
        sweep
        for sweep in ours.sweeps
        if (sweep.draft, sweep.sampling) == ("unaligned", "greedy")
        and {"no fallback", "no rollback"}
        <= {ablation(row.fallback, row.rollback) for row in sweep.of("bild")}
    )
    return Fig5(
        points=tuple(
            Point(
                sweep.task,
                ablation(row.fallback, row.rollback),
                row.fallback,
                row.rollback,
                row.most,
                row.latency,
                row.quality,
            )
            for sweep in sweeps
            for row in sweep.of("bild")
        ),
        sweeps=sweeps,
        source=ours.source,
    )


def draw(data: Fig5) -> Figure:
    """Returns the drawing: a panel for each task."""
    from figures.drawing import style

    figure, panels = style.canvas(
        "What the fallback and the rollback are worth",
        source="As Kim et al. 2023 (BiLD), Figure 5, which prints no numbers; no fallback: fixed "
        "windows; lines: the large model's quality and one point below; a line follows each "
        f"front; {data.source}",
        columns=len(data.sweeps),
        width=3.9 * len(data.sweeps) + 1.6,
    )
    looks = {
        "BiLD": (style.GREEN, "o"),
        "no rollback": (style.ORANGE, "^"),
        "no fallback": (style.BLUE, "s"),
        "neither": (style.GREY, "v"),
    }
    for axes, sweep in zip(panels, data.sweeps, strict=True):
        prepare(axes, sweep, panel=sweep.task)
        for name, (colour, mark) in looks.items():
            rows = [
                row for row in sweep.of("bild") if ablation(row.fallback, row.rollback) == name
            ]
            if rows:
                draw_rows(axes, rows, name=name, colour=colour, mark=mark)
    style.key(panels[-1], anchor=(1.03, 0.0))
    return figure
