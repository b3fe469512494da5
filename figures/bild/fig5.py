"""Kim et al. 2023 (BiLD), Figure 5: BiLD without its rollback, and without its fallback."""

from __future__ import annotations

from figures.bild.measured import measured
from figures.bild.trade_off import TradeOff, draw_rows, panels, trade_off
from figures.drawing import style


def ablation(decoder: str, rollback: float | None) -> str:
    """Returns which part BiLD ran without."""
    if decoder == "window":
        return "no fallback" if rollback is not None else "neither"
    return "no rollback" if rollback is None else "BiLD"


def compute() -> TradeOff:
    """Returns the runs of our unaligned pairs at temperature 0 that were made without a part."""
    sweeps = [
        sweep
        for sweep in measured()
        if sweep.is_plain
        and {"no fallback", "no rollback"}
        <= {ablation(row.decoder, row.rollback) for row in sweep.of("window") + sweep.of("bild")}
    ]
    return trade_off(sweeps, decoders=("bild", "window"))


def draw(data: TradeOff) -> style.Figure:
    """Returns the drawing, with a panel for each task."""
    figure, prepared = panels(
        data,
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
                draw_rows(axes, rows, name=name, colour=colour, mark=mark)
    style.key(prepared[-1][0], anchor=(1.03, 0.0))
    return figure
