"""Kim et al. 2023 (BiLD), Figure 10: a curve for each rollback threshold, fallbacks along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.bild.measured import Sweep, measured
from figures.bild.trade_off import prepare
from figures.drawing.table import Table, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALLEST, LARGEST = 3.0, 9.0   # marks, in points


@dataclass(frozen=True, slots=True)
class Point:
    """One run; a rollback of None: none."""

    task: str
    draft: str
    rollback: float | None
    fallback: float
    latency: float
    quality: float


@dataclass(frozen=True, slots=True)
class Fig10:
    """BiLD's runs at temperature 0: of a task the aligned ones, as in the paper, if there are."""

    points: tuple[Point, ...]
    sweeps: tuple[Sweep, ...]
    source: str

    def table(self) -> Table:
        return table_of(self.points)


def compute() -> Fig10:
    """Returns BiLD's rows that have a fallback."""
    ours = measured()
    tasks = dict.fromkeys(sweep.task for sweep in ours.sweeps)
    sweeps = tuple(
        sweep
        for task in tasks
        if (sweep := ours.sweep(task, "aligned") or ours.sweep(task)) is not None
    )
    return Fig10(
        points=tuple(
            Point(sweep.task, sweep.draft, row.rollback, row.fallback, row.latency, row.quality)
            for sweep in sweeps
            for row in sweep.bild
            if row.fallback is not None
        ),
        sweeps=sweeps,
        source=ours.source,
    )


def draw(data: Fig10) -> Figure:
    """Returns the drawing: larger marks are larger fallback thresholds."""
    from figures.drawing import style

    figure, panels = style.canvas(
        "Each curve a rollback threshold, each mark a fallback threshold",
        source="As Kim et al. 2023 (BiLD), Figure 10, which prints no numbers; larger marks: "
        "larger fallback thresholds; lines: the large model's quality and one point below; "
        f"{data.source}",
        columns=len(data.sweeps),
        width=3.9 * len(data.sweeps) + 1.6,
    )
    thresholds = list(dict.fromkeys(point.rollback for point in data.points))
    looks = dict(zip(thresholds, style.CYCLE, strict=False))
    fallbacks = sorted({point.fallback for point in data.points})
    step = (LARGEST - SMALLEST) / max(len(fallbacks) - 1, 1)
    for axes, sweep in zip(panels, data.sweeps, strict=True):
        prepare(axes, sweep, panel=f"{sweep.task}, {sweep.draft}")
        for threshold, colour in looks.items():
            own = sorted(
                (
                    point
                    for point in data.points
                    if (point.task, point.draft, point.rollback)
                    == (sweep.task, sweep.draft, threshold)
                ),
                key=lambda point: point.fallback,
            )
            name = "no rollback" if threshold is None else f"rollback {threshold:g}"
            axes.plot(
                [point.latency for point in own],
                [point.quality for point in own],
                color=colour,
                linewidth=1.5,
                label=name,
            )
            for point in own:
                axes.plot(
                    point.latency,
                    point.quality,
                    "o",
                    color=colour,
                    markersize=SMALLEST + step * fallbacks.index(point.fallback),
                )
    style.key(panels[-1], anchor=(1.03, 0.0))
    return figure
