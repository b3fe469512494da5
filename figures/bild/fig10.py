"""Kim et al. 2023 (BiLD), Figure 10: one curve per rollback threshold, along the fallbacks."""

from __future__ import annotations

from figures.bild.measured import aligned, measured
from figures.bild.trade_off import TradeOff, panels, trade_off
from figures.drawing import style

SMALLEST, LARGEST = 3.0, 9.0  # marks, in points


def compute() -> TradeOff:
    """Returns BiLD's runs at temperature 0; for each task the aligned runs, as in the paper."""
    plain = [sweep for sweep in measured() if sweep.is_plain]
    return trade_off([aligned(sweep.task) or sweep for sweep in plain], decoders=("bild",))


def draw(data: TradeOff) -> style.Figure:
    """Returns the drawing: larger marks are larger fallback thresholds."""
    figure, prepared = panels(
        data,
        title="Each curve a rollback threshold, each mark a fallback threshold",
        source="As Kim et al. 2023 (BiLD), Figure 10, which prints no numbers; larger marks: "
        "larger fallback thresholds",
    )
    thresholds = list(dict.fromkeys(point.rollback for point in data.rows))
    fallbacks = sorted({point.fallback for point in data.rows if point.fallback is not None})
    step = (LARGEST - SMALLEST) / max(len(fallbacks) - 1, 1)
    for axes, sweep in prepared:
        for threshold, colour in zip(thresholds, style.CYCLE, strict=False):
            own = sorted(
                (row.fallback, row.latency, row.score)
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
