"""Kim et al. 2023 (BiLD), Figures 5 and 10: quality against latency, by part and by threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from figures.bild.measured import SOURCE, MeasuredSweep, aligned, measured
from figures.drawing import style
from figures.drawing.table import Curves, Drawing, columns_of
from studies.bild.swept import BildRow

METRICS = {"bleu": "BLEU", "agreement": "agreement with the large model, %", "rouge_l": "ROUGE-L"}
SMALLEST, LARGEST = 3.0, 9.0  # marks of Figure 10, in points


def _points(sweeps: Sequence[MeasuredSweep], *decoders: str) -> Curves:
    """Returns the sweeps' runs with these decoders.

    decoder: "bild", or "window": drafts of `most` tokens without a fallback.
    latency: seconds per token over the large model's.
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
    return columns_of("task draft decoder fallback rollback most latency quality", rows)


def ablation(decoder: str, rollback: float | None) -> str:
    """Returns which part BiLD ran without."""
    if decoder == "window":
        return "no fallback" if rollback is not None else "neither"
    return "no rollback" if rollback is None else "BiLD"


def _ablated() -> list[MeasuredSweep]:
    """Returns the sweeps of Figure 5: unaligned, greedy, with runs without either part."""
    return [
        sweep
        for sweep in measured()
        if sweep.is_plain
        and {"no fallback", "no rollback"}
        <= {ablation(row.decoder, row.rollback) for row in sweep.of("window") + sweep.of("bild")}
    ]


def _by_threshold() -> list[MeasuredSweep]:
    """Returns the sweeps of Figure 10: greedy; per task the aligned one, if it was measured."""
    return [aligned(sweep.task) or sweep for sweep in measured() if sweep.is_plain]


def draw_ablation(_: Curves) -> style.Figure:
    """Returns Figure 5, with a panel for each task."""
    figure, prepared = _panels(
        _ablated(),
        title="The effect of the fallback and of the rollback",
        source="As Kim et al. 2023 (BiLD), Figure 5, which prints no numbers; no fallback: fixed "
        "windows; a line follows each front",
    )
    looks = {
        "BiLD": (style.GREEN, "o"),
        "no rollback": (style.ORANGE, "^"),
        "no fallback": (style.BLUE, "s"),
        "neither": (style.GREY, "v"),
    }
    for axes, sweep in prepared:
        runs = sweep.of("bild") + sweep.of("window")
        for name, (colour, mark) in looks.items():
            rows = [row for row in runs if ablation(row.decoder, row.rollback) == name]
            if rows:
                draw_rows(axes, sweep, rows, name=name, colour=colour, mark=mark)
    style.key(prepared[-1][0], anchor=(1.03, 0.0))
    return figure


def draw_thresholds(data: Curves) -> style.Figure:
    """Returns Figure 10: a curve per rollback threshold, larger marks for larger fallbacks."""
    figure, prepared = _panels(
        _by_threshold(),
        title="Each curve a rollback threshold, each mark a fallback threshold",
        source="As Kim et al. 2023 (BiLD), Figure 10, which prints no numbers; larger marks: "
        "larger fallback thresholds",
    )
    thresholds = list(dict.fromkeys(data.lines["rollback"]))
    fallbacks = sorted(set(data.lines["fallback"]) - {None})
    step = (LARGEST - SMALLEST) / max(len(fallbacks) - 1, 1)
    for axes, sweep in prepared:
        for threshold, colour in zip(thresholds, style.CYCLE, strict=False):
            own = sorted(
                (row.fallback, row.latency, sweep.score(row))
                for row in sweep.of("bild")
                if row.rollback == threshold and row.fallback is not None
            )
            name = "no rollback" if threshold is None else f"rollback {threshold:g}"
            _, latencies, qualities = zip(*own, strict=True)
            axes.plot(latencies, qualities, color=colour, linewidth=1.5, label=name)
            for fallback, latency, quality in own:
                size = SMALLEST + step * fallbacks.index(fallback)
                axes.plot(latency, quality, "o", color=colour, markersize=size)
    style.key(prepared[-1][0], anchor=(1.03, 0.0))
    return figure


def _panels(
    sweeps: Sequence[MeasuredSweep], *, title: str, source: str
) -> tuple[style.Figure, list[tuple[style.Axes, MeasuredSweep]]]:
    """Returns a canvas with a prepared panel for each sweep."""
    figure, axes = style.canvas(
        title,
        source=f"{source}; lines: the large model's quality and one point below; {SOURCE}",
        columns=len(sweeps),
        width=3.9 * len(sweeps) + 1.6,
    )
    prepared = list(zip(axes, sweeps, strict=True))
    for panel, sweep in prepared:
        prepare(panel, sweep, panel=f"{sweep.task}, {sweep.draft}")
    return figure, prepared


def aims(axes: style.Axes, quality: float) -> None:
    """Draws the large model's quality and one point below."""
    for height, dashes in ((quality, "-"), (quality - 1, ":")):
        axes.axhline(height, color=style.GREY, linewidth=1, linestyle=dashes)


def prepare(axes: style.Axes, sweep: MeasuredSweep, *, panel: str) -> None:
    """Draws the large model's mark, its quality and one point below, and names the axes."""
    quality = sweep.score(sweep.large)
    aims(axes, quality)
    axes.plot(1, quality, "X", color=style.INK, markersize=9, label="large model alone", zorder=3)
    x, heading = "seconds per token over the large model's", f"{panel} ({sweep.prompts} prompts)"
    style.name_axes(axes, x=x, y=METRICS[sweep.metric], panel=heading)


def draw_rows(
    axes: style.Axes,
    sweep: MeasuredSweep,
    rows: Sequence[BildRow],
    *,
    name: str,
    colour: str,
    mark: str,
) -> None:
    """Draws rows of a sweep as marks, with a line along their front."""
    best, every = (
        ([row.latency for row in some], [sweep.score(row) for row in some])
        for some in (sweep.front(rows), rows)
    )
    axes.plot(*best, color=colour, linewidth=1.8)
    axes.plot(*every, mark, color=colour, markersize=5.5, label=name)


FIGURES: Mapping[str, Drawing] = {
    "bild-fig5": Drawing(lambda: _points(_ablated(), "bild", "window"), draw_ablation),
    "bild-fig10": Drawing(lambda: _points(_by_threshold(), "bild"), draw_thresholds),
}
