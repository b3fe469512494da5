"""Kim et al. 2024 (blockwise drafts), Figures 2 and 3: the entropy of the heads."""

from __future__ import annotations

from collections.abc import Mapping

from figures.blockwise.measured import PAPER, analysis, said
from figures.drawing import style
from figures.drawing.table import Curves, Drawing, columns_of

PUBLISHED_R = 0.77  # over data sets, section 6.2


def histograms() -> Curves:
    """Returns, by head, the share of positions whose entropy is in each bin from `entropy` nats on.

    They are our heads'; the paper prints no numbers.
    """
    result = analysis()
    bars = [
        (head.head, place * result.entropy_bin, share)
        for head in result.entropy
        for place, share in enumerate(head.shares)
    ]
    return columns_of("head entropy share", bars)


def draw_histograms(data: Curves) -> style.Figure:
    """Returns Figure 2, with a panel for each head."""
    means = [head.mean for head in analysis().entropy]
    heads = len(means)
    figure, panels = style.canvas(
        f"The model's own head is unsure by {means[0]:.1f} nats in the mean, the next by "
        f"{means[1]:.1f}, the last by {means[-1]:.1f}",
        source=f"{PAPER}, Figure 2, whose curves are of LAMBADA and without numbers; here all "
        f"curves are ours. {said()}",
        columns=3,
        rows=-(-heads // 3),
        width=8.4,
        height=6.2,
    )
    bars = list(zip(data.x, *data.lines.values(), strict=True))
    top = 1.1 * max(share for head, _, share in bars if head > 1)
    for head, axes in enumerate(panels[:heads], start=1):
        entropies, shares = zip(*(bar for of, *bar in bars if of == head), strict=True)
        width = analysis().entropy_bin
        axes.bar(entropies, shares, width=width, align="edge", color=style.BLUE)
        axes.axvline(means[head - 1], color=style.VERMILION, linewidth=1.5)
        axes.set_ylim(0, max(top, 1.1 * max(shares) if head == 1 else 0))
        style.name_axes(
            axes,
            x="entropy (nats)" if head > heads - 3 else "",
            y="share of positions" if head % 3 == 1 else "",
            panel=f"head {head}, mean {means[head - 1]:.2f}",
        )
    return figure


def by_text() -> Curves:
    """Returns our texts: h_max (last head with increasing mean entropy) and block efficiency.

    The paper's points are data sets, without printed numbers.
    """
    result = analysis()
    lines = {"block_efficiency": result.block_efficiency_by_text}
    return Curves("h_max", result.h_max_by_text, lines)


def draw_by_text(data: Curves) -> style.Figure:
    """Returns Figure 3, with a point for each text."""
    r, ours = analysis().h_max_correlation, "none: nothing varies"
    if r.value is not None:
        ours = f"{r.value:.2f} [{r.low:.2f}, {r.high:.2f}]"
    figure, (axes,) = style.canvas(
        f"Block efficiency and h_max: correlation {ours} over our texts, {PUBLISHED_R} over the "
        "paper's data sets",
        source=f"{PAPER}, Figure 3 and section 6.2. h_max: the head up to which the mean entropy "
        f"of the heads rises. {said()}",
    )
    # Points with the same h_max are spread out horizontally.
    columns: dict[int, list[float]] = {}
    for h_max, efficiency in zip(data.x, data.lines["block_efficiency"], strict=True):
        columns.setdefault(int(h_max), []).append(efficiency)
    for h_max, values in columns.items():
        places = [h_max + 0.5 * ((n + 0.5) / len(values) - 0.5) for n in range(len(values))]
        axes.plot(places, sorted(values), "o", color=style.BLUE, markersize=4, alpha=0.7)
        mean = sum(values) / len(values)
        axes.plot([h_max - 0.35, h_max + 0.35], [mean, mean], color=style.VERMILION, linewidth=2)
    axes.set_xticks(sorted(columns))
    style.name_axes(axes, x="h_max of a text (line: mean)", y="block efficiency, heads alone")
    return figure


FIGURES: Mapping[str, Drawing] = {
    "blockwise-fig2": Drawing(histograms, draw_histograms),
    "blockwise-fig3": Drawing(by_text, draw_by_text),
}
