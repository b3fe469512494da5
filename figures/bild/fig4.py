"""Kim et al. 2023 (BiLD), Figure 4: quality against latency, compared with speculative decoding."""

from __future__ import annotations

from typing import Any

from figures.bild.measured import SOURCE, aligned, measured
from figures.bild.tables import PAPER, TableLine
from figures.bild.trade_off import aims, draw_rows, prepare
from figures.drawing import style
from figures.drawing.table import Curves, columns_of
from figures.published import published


def compute() -> Curves:
    """Returns the points that the paper prints (Table 1), and our sweeps at temperature 0.

    latency: seconds per token over the large model's, with its interval.
    """
    points: list[tuple[Any, ...]] = [
        (PAPER, line.dataset, line.method, 1 / line.speedup, None, None, line.quality)
        for line in published("bild-table1", TableLine)
        if line.speedup is not None and line.quality is not None
    ]
    for sweep in measured():
        if sweep.sampling == "greedy":
            points += [
                (
                    "ours", f"{sweep.task}, {sweep.draft}", row.decoder, row.latency,
                    None if row.measured_high is None else 1 / row.measured_high,
                    None if row.measured_low is None else 1 / row.measured_low, sweep.score(row),
                )
                for row in sweep.rows
            ]  # fmt: skip
    return columns_of("whose dataset method latency low high quality", points)


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: the paper's IWSLT, then a panel for each of our tasks."""
    drawn = [(sweep, aligned(sweep.task)) for sweep in measured() if sweep.is_plain]
    columns = 1 + len(drawn)
    figure, panels = style.canvas(
        "Quality against latency: BiLD and speculative decoding",
        source="Kim et al. 2023 (BiLD), Figure 4 (left: the points of IWSLT that Table 1 prints, "
        "1 / speed-up); lines: the large model's quality and one point below; a line follows each "
        f"method's front; {SOURCE}",
        columns=columns,
        width=3.7 * columns + 1.4,
    )
    paper = panels[0]
    rows = zip(data.x, *data.lines.values(), strict=True)
    printed = {
        method: (latency, quality)
        for whose, dataset, method, latency, _, _, quality in rows
        if (whose, dataset) == (PAPER, "IWSLT")
    }
    _, quality = printed["vanilla"]
    aims(paper, quality)
    paper.plot(1, quality, "X", color=style.INK, markersize=9)
    for draft, colour, mark in (("unaligned", style.GREEN, "o"), ("aligned", style.BLUE, "s")):
        points = (printed[f"{draft}, {loss}"] for loss in ("no loss", "1 point"))
        paper.plot(*zip(*points, strict=True), f"{mark}-", color=colour)
    style.name_axes(paper, x="latency over the large model's", y="BLEU", panel="IWSLT, the paper")
    looks = (
        ("strict", "speculative", style.VERMILION, "D"), ("lenient", "lenient", style.PURPLE, "^"),
        ("small", "small model alone", style.INK, "P"),
    )  # fmt: skip
    for axes, (sweep, other) in zip(panels[1:], drawn, strict=True):
        prepare(axes, sweep, panel=sweep.task)
        own, runs = sweep.of("bild"), [] if other is None else other.of("bild")
        draw_rows(axes, sweep, own, name="BiLD, unaligned", colour=style.GREEN, mark="o")
        if any(second is not None for _, second in drawn):
            draw_rows(axes, sweep, runs, name="BiLD, aligned", colour=style.BLUE, mark="s")
        for decoder, name, colour, mark in looks:
            draw_rows(axes, sweep, sweep.of(decoder), name=name, colour=colour, mark=mark)
    style.key(panels[-1], anchor=(1.03, 0.0))
    return figure
