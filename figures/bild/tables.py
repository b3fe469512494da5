"""What the tables of Kim et al. 2023 and ours have in common: lines, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.bild.measured import Row, Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER, OURS = "paper", "ours"
METRICS_NOTE = "BLEU of translation and spelling, agreement with the large model (%) of code"


@dataclass(frozen=True, slots=True)
class Line:
    """One method on one data set.

    whose: "paper" or "ours".
    quality: BLEU or ROUGE-L of the paper, the sweep's metric of ours; None: no row keeps to it.
    speedup, low, high: over the large model alone; our interval is over prompts, 95 %.
    fallback_percent, rollback_percent: over emitted tokens; None where the paper has none.
    setting: our thresholds, or γ.
    """

    whose: str
    dataset: str
    method: str
    quality: float | None
    speedup: float | None
    low: float | None = None
    high: float | None = None
    fallback_percent: float | None = None
    rollback_percent: float | None = None
    setting: str = ""


def published(dataset: str, method: str, numbers: Sequence[float]) -> Line:
    """Returns a line of the paper: quality, speed-up, and where printed fallback and rollback."""
    fallback, rollback = numbers[2:] if len(numbers) == 4 else (None, None)
    return Line(
        PAPER,
        dataset,
        method,
        numbers[0],
        numbers[1],
        fallback_percent=fallback,
        rollback_percent=rollback,
    )


def measured_line(sweep: Sweep, method: str, row: Row | None) -> Line:
    """Returns a line of ours; a row of None has no numbers."""
    if row is None:
        return Line(OURS, sweep.task, method, None, None)
    return Line(
        OURS,
        sweep.task,
        method,
        row.quality,
        row.speedup,
        row.low,
        row.high,
        row.large_percent,
        row.rollback_percent,
        setting_of(row),
    )


def setting_of(row: Row) -> str:
    """Returns the thresholds of BiLD or the γ of speculative decoding, in words."""
    if row.decoder in ("bild", "window"):
        rollback = "∞" if row.rollback is None else f"{row.rollback:g}"
        return f"α_FB {row.fallback:g}, α_RB {rollback}"
    return "" if row.most is None else f"{row.decoder}, γ = {row.most}"


def draw_lines(
    lines: Sequence[Line], *, title: str, source: str, percentages: bool = False
) -> Figure:
    """Returns a table with a row for each data set and a column for each method.

    Args:
      lines: at least one.
      title, source: above and below.
      percentages: whether cells tell fallback and rollback, too.
    """
    from figures.drawing import style

    datasets = list(dict.fromkeys((line.whose, line.dataset) for line in lines))
    methods = list(dict.fromkeys(line.method for line in lines))
    at = {(line.whose, line.dataset, line.method): line for line in lines}
    cells = [
        [f"{dataset}, {whose}"]
        + [
            cell(at[whose, dataset, method], percentages=percentages)
            if (whose, dataset, method) in at
            else "–"
            for method in methods
        ]
        for whose, dataset in datasets
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(methods) + 1)]
    widths = [
        max(width, len(name)) + 3 for width, name in zip(widths, ["", *methods], strict=True)
    ]
    figure, (axes,) = style.canvas(
        title,
        source=source,
        width=max(7.2, 0.082 * sum(widths)),
        height=1.2 + 0.33 * (len(cells) + 1),
    )
    style.draw_table(axes, ["", *methods], cells, widths=[float(width) for width in widths])
    return figure


def cell(line: Line, *, percentages: bool) -> str:
    """Returns quality, speed-up and its interval, and if asked fallback and rollback."""
    if line.quality is None or line.speedup is None:
        return "none"
    text = f"{line.quality:.2f}  {line.speedup:.2f}×"
    if line.low is not None and line.high is not None and line.low < line.high:
        text += f" [{line.low:.2f}, {line.high:.2f}]"
    if percentages and line.fallback_percent is not None and line.rollback_percent is not None:
        text += f"  {line.fallback_percent:.1f} / {line.rollback_percent:.1f} %"
    return text
