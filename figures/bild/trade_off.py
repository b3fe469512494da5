"""Kim et al. 2023 (BiLD), Figures 4, 5 and 10: quality against latency."""

from collections.abc import Sequence
from typing import Any

from figures import drawing
from figures.bild.tables import SOURCE, MeasuredSweep, aligned, measured
from figures.numbers import Numbers, numbers, published
from studies.bild.swept import BildRow

METRICS = {"bleu": "BLEU", "agreement": "agreement with the large model, %", "rouge_l": "ROUGE-L"}
SMALLEST, LARGEST = 3.0, 9.0  # marks of Figure 10, in points


def rollback_name(threshold: float | None) -> str:
    """Returns BiLD's rollback threshold in words."""
    return "no rollback" if threshold is None else f"rollback {threshold:g}"


def aims(axes: drawing.Axes, quality: float) -> None:
    """Draws horizontal lines at the large model's quality, and one point of the metric below it."""
    for height, dashes in ((quality, "-"), (quality - 1, ":")):
        axes.axhline(height, color=drawing.GREY, linewidth=1, linestyle=dashes)


def prepare(axes: drawing.Axes, sweep: MeasuredSweep, *, panel: str) -> None:
    """Marks the large model in a panel, draws both quality lines (`aims`) and names the axes."""
    quality = sweep.score(sweep.large)
    aims(axes, quality)
    axes.plot(1, quality, "X", color=drawing.INK, markersize=9, label="large model alone", zorder=3)
    x, heading = "seconds per token over the large model's", f"{panel} ({sweep.prompts} prompts)"
    drawing.name_axes(axes, x=x, y=METRICS[sweep.metric], panel=heading)


def draw_rows(
    axes: drawing.Axes,
    sweep: MeasuredSweep,
    rows: Sequence[BildRow],
    *,
    name: str,
    colour: str,
    mark: str,
) -> None:
    """Draws rows of a sweep as marks, and their Pareto front (quality, latency) as a line."""
    best, every = (
        ([row.latency for row in some], [sweep.score(row) for row in some])
        for some in (sweep.front(rows), rows)
    )
    axes.plot(*best, color=colour, linewidth=1.8)
    axes.plot(*every, mark, color=colour, markersize=5.5, label=name)


def compute_latencies() -> Numbers:
    """Returns latency and quality of each method: the paper's (Table 1), then our greedy sweeps'.

    latency: seconds per token, divided by the large model's; low, high: its interval.
    """
    points: list[tuple[Any, ...]] = [
        ("paper", line.dataset, line.method, 1 / line.speedup, None, None, line.quality)
        for line in published("bild-table1")
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
    return numbers("whose dataset method latency low high quality", points)


def draw_latencies(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 4 of the BiLD paper: a panel with its IWSLT data, then one per task of ours."""
    drawn = [(sweep, aligned(sweep.task)) for sweep in measured() if sweep.is_plain]
    columns = 1 + len(drawn)
    figure, panels = caption.canvas((1, columns), (3.7 * columns + 1.4, 4.6), ours=SOURCE)
    paper = panels[0]
    iwslt = data.where(whose="paper", dataset="IWSLT")
    printed = {point.method: (point.latency, point.quality) for point in iwslt}
    _, quality = printed["vanilla"]
    aims(paper, quality)
    paper.plot(1, quality, "X", color=drawing.INK, markersize=9)
    for draft, colour, mark in (("unaligned", drawing.GREEN, "o"), ("aligned", drawing.BLUE, "s")):
        points = (printed[f"{draft}, {loss}"] for loss in ("no loss", "1 point"))
        paper.plot(*zip(*points, strict=True), f"{mark}-", color=colour)
    drawing.name_axes(paper, x="latency over the large model's", y="BLEU", panel="IWSLT, the paper")
    looks = (
        ("strict", "speculative", drawing.VERMILION, "D"),
        ("lenient", "lenient", drawing.PURPLE, "^"),
        ("small", "small model alone", drawing.INK, "P"),
    )
    for axes, (sweep, other) in zip(panels[1:], drawn, strict=True):
        prepare(axes, sweep, panel=sweep.task)
        rows, runs = sweep.of("bild"), [] if other is None else other.of("bild")
        draw_rows(axes, sweep, rows, name="BiLD, unaligned", colour=drawing.GREEN, mark="o")
        draw_rows(axes, sweep, runs, name="BiLD, aligned", colour=drawing.BLUE, mark="s")
        for decoder, name, colour, mark in looks:
            draw_rows(axes, sweep, sweep.of(decoder), name=name, colour=colour, mark=mark)
    drawing.key(panels[-1], anchor=(1.03, 0.0))
    return figure


def ablation(decoder: str, rollback: float | None) -> str:
    """Returns a run's name in Figure 5: "no fallback", "no rollback", "neither" or full "BiLD"."""
    if decoder == "window":
        return "no fallback" if rollback is not None else "neither"
    return "no rollback" if rollback is None else "BiLD"


def _ablated() -> list[MeasuredSweep]:
    """Returns the greedy, unaligned sweeps that ran BiLD without fallback and without rollback."""
    return [
        sweep
        for sweep in measured()
        if sweep.is_plain and sweep.of("window")
        if any(row.rollback is None for row in sweep.of("bild"))
    ]


def _by_threshold() -> list[MeasuredSweep]:
    """Returns a greedy sweep per task for Figure 10, with the aligned draft if there is one."""
    return [aligned(sweep.task) or sweep for sweep in measured() if sweep.is_plain]


def _points(sweeps: Sequence[MeasuredSweep], *decoders: str) -> Numbers:
    """Returns the sweeps' measurements of these decoders, one row per pair of thresholds.

    decoder: "bild", or "window", which always drafts `most` tokens (no fallback).
    latency: seconds per token, divided by the large model's.
    """
    rows = [
        (
            sweep.task, sweep.draft, row.decoder, row.fallback, row.rollback, row.most,
            row.latency, sweep.score(row),
        )
        for sweep in sweeps
        for decoder in decoders
        for row in sweep.of(decoder)
    ]  # fmt: skip
    return numbers("task draft decoder fallback rollback most latency quality", rows)


def _panels(
    sweeps: Sequence[MeasuredSweep], caption: drawing.Caption
) -> tuple[drawing.Figure, list[tuple[drawing.Axes, MeasuredSweep]]]:
    """Returns a figure with a panel per sweep; each has named axes and the large model's mark."""
    size = (3.9 * len(sweeps) + 1.6, 4.6)
    figure, axes = caption.canvas((1, len(sweeps)), size, ours=SOURCE)
    prepared = list(zip(axes, sweeps, strict=True))
    for panel, sweep in prepared:
        prepare(panel, sweep, panel=f"{sweep.task}, {sweep.draft}")
    return figure, prepared


def compute_ablation() -> Numbers:
    return _points(_ablated(), "bild", "window")


def draw_ablation(_: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 5 of the BiLD paper: BiLD without fallback or rollback, a panel per task."""
    figure, prepared = _panels(_ablated(), caption)
    looks = {
        "BiLD": (drawing.GREEN, "o"),
        "no rollback": (drawing.ORANGE, "^"),
        "no fallback": (drawing.BLUE, "s"),
        "neither": (drawing.GREY, "v"),
    }
    for axes, sweep in prepared:
        runs = sweep.of("bild") + sweep.of("window")
        for name, (colour, mark) in looks.items():
            rows = [row for row in runs if ablation(row.decoder, row.rollback) == name]
            if rows:
                draw_rows(axes, sweep, rows, name=name, colour=colour, mark=mark)
    drawing.key(prepared[-1][0], anchor=(1.03, 0.0))
    return figure


def compute_thresholds() -> Numbers:
    return _points(_by_threshold(), "bild")


def draw_thresholds(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 10 of the BiLD paper: a curve per rollback threshold.

    A larger mark means a larger fallback threshold.
    """
    figure, prepared = _panels(_by_threshold(), caption)
    fallbacks = sorted(set(data["fallback"]) - {None})
    step = (LARGEST - SMALLEST) / max(len(fallbacks) - 1, 1)
    for axes, sweep in prepared:
        for threshold, colour in zip(data.distinct("rollback"), drawing.CYCLE, strict=False):
            points = sorted(
                (row.fallback, row.latency, row.quality)
                for row in data.where(task=sweep.task, rollback=threshold)
            )
            _, latencies, qualities = zip(*points, strict=True)
            axes.plot(
                latencies, qualities, color=colour, linewidth=1.5, label=rollback_name(threshold)
            )
            for fallback, latency, quality in points:
                size = SMALLEST + step * fallbacks.index(fallback)
                axes.plot(latency, quality, "o", color=colour, markersize=size)
    drawing.key(prepared[-1][0], anchor=(1.03, 0.0))
    return figure
