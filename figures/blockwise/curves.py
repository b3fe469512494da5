"""Kim et al. 2024 (blockwise drafts), Figures 2, 3, 6 and 7: entropies and block efficiencies."""

from __future__ import annotations

from typing import Any

from figures import drawing
from figures.blockwise.tables import OURS, PAPER, analysis, said
from figures.numbers import Numbers, columns, numbers, published_grid

PUBLISHED_R = 0.77  # over data sets, section 6.2
WAYS = ("parallel base", "parallel 4-gram")


def histograms() -> Numbers:
    """Returns the share of positions in each bin of entropy, by head.

    The heads are our own, because the paper prints no numbers.

    entropy: lower end of the bin, in nats.
    """
    result = analysis()
    bars = [
        (head.head, place * result.entropy_bin, share)
        for head in result.entropy
        for place, share in enumerate(head.shares)
    ]
    return numbers("head entropy share", bars)


def draw_histograms(data: Numbers) -> drawing.Figure:
    """Returns Figure 2, with a panel for each head."""
    means = [head.mean for head in analysis().entropy]
    heads = len(means)
    figure, panels = drawing.canvas(
        f"The model's own head is unsure by {means[0]:.1f} nats in the mean, the next by "
        f"{means[1]:.1f}, the last by {means[-1]:.1f}",
        source=f"{PAPER}, Figure 2, whose curves are of LAMBADA and without numbers; here all "
        f"curves are ours. {said()}",
        columns=3,
        rows=-(-heads // 3),
        size=(8.4, 6.2),
    )
    top = 1.1 * max(bar.share for bar in data if bar.head > 1)
    for head, axes in enumerate(panels[:heads], start=1):
        bars, width = data.where(head=head), analysis().entropy_bin
        axes.bar(bars["entropy"], bars["share"], width=width, align="edge", color=drawing.BLUE)
        axes.axvline(means[head - 1], color=drawing.VERMILION, linewidth=1.5)
        axes.set_ylim(0, max(top, 1.1 * max(bars["share"]) if head == 1 else 0))
        drawing.name_axes(
            axes,
            x="entropy (nats)" if head > heads - 3 else "",
            y="share of positions" if head % 3 == 1 else "",
            panel=f"head {head}, mean {means[head - 1]:.2f}",
        )
    return figure


def by_text() -> Numbers:
    """Returns h_max (last head before mean entropy falls) and block efficiency of each text.

    The paper has a point for each data set, but prints no numbers.
    """
    result = analysis()
    efficiencies = result.block_efficiency_by_text
    return columns({"h_max": result.h_max_by_text, "block_efficiency": efficiencies})


def draw_by_text(data: Numbers) -> drawing.Figure:
    """Returns Figure 3, with a point for each text."""
    r, ours = analysis().h_max_correlation, "none: nothing varies"
    if r.value is not None:
        ours = f"{r.value:.2f} [{r.low:.2f}, {r.high:.2f}]"
    figure, (axes,) = drawing.canvas(
        f"Block efficiency and h_max: correlation {ours} over our texts, {PUBLISHED_R} over the "
        "paper's data sets",
        source=f"{PAPER}, Figure 3 and section 6.2. h_max: the head up to which the mean entropy "
        f"of the heads rises. {said()}",
    )
    for h_max in data.distinct("h_max"):
        values = sorted(data.where(h_max=h_max)["block_efficiency"])
        # Points with the same h_max are spread out horizontally.
        places = [h_max + 0.5 * ((n + 0.5) / len(values) - 0.5) for n in range(len(values))]
        axes.plot(places, values, "o", color=drawing.BLUE, markersize=4, alpha=0.7)
        mean = sum(values) / len(values)
        axes.plot([h_max - 0.35, h_max + 0.35], [mean, mean], color=drawing.VERMILION, linewidth=2)
    axes.set_xticks(sorted(data.distinct("h_max")))
    drawing.name_axes(axes, x="h_max of a text (line: mean)", y="block efficiency, heads alone")
    return figure


def by_arcs() -> Numbers:
    """Returns block efficiencies of the best path through the k likeliest tokens of each head.

    The paper prints three values of k per data set. Our numbers have intervals.

    relative: block efficiency over that at k = 1.
    """
    rows: list[tuple[Any, ...]] = []
    for dataset, printed in published_grid("blockwise-table9").items():
        for k, column in ((1, "base"), (2, "oracle k=2"), (16, "oracle k=16")):
            value = printed[column]
            rows.append((dataset, k, value, value / printed["base"], None, None))
    ours = analysis().oracle
    rows += [
        (
            *(OURS, way.k, way.block_efficiency),
            *(way.block_efficiency / ours[0].block_efficiency, way.low, way.high),
        )
        for way in ours
    ]
    return numbers("dataset k block_efficiency relative low high", rows)


def draw_by_arcs(data: Numbers) -> drawing.Figure:
    """Returns Figure 6: our curve with its intervals, and the paper's points."""
    ours = data.where(dataset=OURS)
    figure, (axes,) = drawing.canvas(
        f"The best path among {ours['k'][-1]} arcs a head has {ours['relative'][-1]:.2f} times "
        "the block efficiency of the heads' own",
        source=f"{PAPER}, Figure 6, of whose curves Table 9 prints k = 1, 2 and 16. {said()}",
        size=(8.0, 4.8),
    )
    labels = []
    colours = (*drawing.CYCLE[:-1], drawing.GREY, drawing.INK)
    for dataset, colour in zip(data.distinct("dataset"), colours, strict=True):
        rows = data.where(dataset=dataset)
        width, dashes = (2.5, "-") if dataset == OURS else (1, ":")
        axes.plot(
            rows["k"], rows["block_efficiency"], marker="o", markersize=4, color=colour,
            linewidth=width, linestyle=dashes,
        )  # fmt: skip
        if dataset == OURS:
            low, high = rows["low"], rows["high"]
            axes.fill_between(rows["k"], low, high, color=colour, alpha=0.15, linewidth=0)
        labels.append((rows["block_efficiency"][-1], dataset, colour))
    drawing.octaves_on_x(axes, [1, 2, 4, 8, 16])
    axes.set_ylim(bottom=1)
    drawing.name_axes(axes, x="k, arcs at each head", y="oracle block efficiency")
    drawing.label_right(axes, labels)
    return figure


def by_drafts() -> Numbers:
    """Returns block efficiencies when the p best paths are verified, in the paper and ours.

    The paper prints two values of p for each data set and method. Our numbers have intervals.
    """
    rows: list[tuple[Any, ...]] = []
    for dataset, printed in published_grid("blockwise-table4").items():
        for way, single in zip(WAYS, ("base", "4-gram"), strict=True):
            for p, column in ((1, single), (16, way)):
                rows.append((dataset, way, p, printed[column], None, None))
    rows += [
        (OURS, way.name, way.p, way.block_efficiency, way.low, way.high)
        for way in analysis().parallel
        if way.name in WAYS
    ]
    return numbers("dataset way p block_efficiency low high", rows)


def draw_by_drafts(data: Numbers) -> drawing.Figure:
    """Returns Figure 7: a panel for each data set, starting with ours."""
    *papers, ours = data.distinct("dataset")
    reached = [f"{row.block_efficiency:.2f} ({row.way})" for row in data.where(dataset=ours, p=16)]
    figure, panels = drawing.canvas(
        f"Sixteen drafts in one call: ours reach {' and '.join(reached)}",
        source=f"{PAPER}, Figure 7, of whose curves Table 4 prints p = 1 and 16. {said()}",
        columns=4,
        rows=2,
        size=(10.5, 5.4),
    )
    for place, (dataset, axes) in enumerate(zip([ours, *papers], panels, strict=True)):
        for way, (mark, colour) in zip(WAYS, drawing.marks(), strict=False):
            rows = data.where(dataset=dataset, way=way)
            axes.plot(
                rows["p"], rows["block_efficiency"], marker=mark, markersize=5, color=colour,
                linestyle="-" if dataset == ours else ":", label=way,
            )  # fmt: skip
            drawing.intervals(axes, zip(rows["p"], rows["low"], rows["high"], strict=True), colour)
        drawing.octaves_on_x(axes, [1, 2, 4, 8, 16])
        axes.margins(y=0.3 if dataset == ours else 0.1)
        drawing.name_axes(
            axes,
            x="p, drafts verified at once" if place >= 4 else "",
            y="block efficiency" if place % 4 == 0 else "",
            panel=dataset,
        )
    drawing.key(panels[0], anchor=(0.02, 0.75))
    return figure


FIGURES: drawing.Declared = {
    "blockwise-fig2": (histograms, draw_histograms),
    "blockwise-fig3": (by_text, draw_by_text),
    "blockwise-fig6": (by_arcs, draw_by_arcs),
    "blockwise-fig7": (by_drafts, draw_by_drafts),
}
