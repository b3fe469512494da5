"""Kim et al. 2024 (blockwise drafts), Figure 2: the distribution of each head's entropy."""

from __future__ import annotations

from dataclasses import dataclass

from figures.blockwise.measured import PAPER, analysis, said
from figures.drawing import style
from figures.drawing.table import FigureRows


@dataclass(frozen=True, slots=True)
class EntropyShare:
    """Share of positions at which a head's entropy is in [entropy, entropy + bin) nats."""

    head: int
    entropy: float
    share: float


@dataclass(frozen=True, slots=True)
class Histograms(FigureRows[EntropyShare]):
    """The histograms of all heads, and each head's mean entropy in nats."""

    means: tuple[float, ...]
    bin: float


def compute() -> Histograms:
    """Returns the histograms of our heads; the paper's are drawn, not printed."""
    result = analysis()
    width = result.entropy_bin
    return Histograms(
        rows=tuple(
            EntropyShare(head.head, place * width, share)
            for head in result.entropy
            for place, share in enumerate(head.shares)
        ),
        means=tuple(head.mean for head in result.entropy),
        bin=width,
    )


def draw(data: Histograms) -> style.Figure:
    """Returns the drawing, with a panel for each head."""
    heads = len(data.means)
    figure, panels = style.canvas(
        f"The model's own head is unsure by {data.means[0]:.1f} nats in the mean, the next by "
        f"{data.means[1]:.1f}, the last by {data.means[-1]:.1f}",
        source=f"{PAPER}, Figure 2, whose curves are of LAMBADA and without numbers; here all "
        f"curves are ours. {said()}",
        columns=3,
        rows=-(-heads // 3),
        width=8.4,
        height=6.2,
    )
    top = 1.1 * max(row.share for row in data.rows if row.head > 1)
    for head, axes in enumerate(panels[:heads], start=1):
        rows = [row for row in data.rows if row.head == head]
        entropies, shares = [row.entropy for row in rows], [row.share for row in rows]
        axes.bar(entropies, shares, width=data.bin, align="edge", color=style.BLUE)
        axes.axvline(data.means[head - 1], color=style.VERMILION, linewidth=1.5)
        axes.set_ylim(0, max(top, 1.1 * max(row.share for row in rows) if head == 1 else 0))
        style.name_axes(
            axes,
            x="entropy (nats)" if head > heads - 3 else "",
            y="share of positions" if head % 3 == 1 else "",
            panel=f"head {head}, mean {data.means[head - 1]:.2f}",
        )
    return figure
