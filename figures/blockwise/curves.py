"""Kim et al. 2024 (blockwise drafts), Figures 2, 3, 6 and 7: entropies and block efficiencies."""

from typing import Any

from figures import drawing
from figures.blockwise.tables import OURS, analysis, our_setup
from figures.labels import label_right
from figures.numbers import Numbers, columns, numbers, published_grid

WAYS = ("parallel base", "parallel 4-gram")


def compute_histograms() -> Numbers:
    """Returns the share of positions in each entropy bin, for each head that we trained.

    entropy: lower end of the bin, in nats.
    """
    result = analysis()
    bars = [
        (head.head, place * result.entropy_bin, share)
        for head in result.entropy
        for place, share in enumerate(head.shares)
    ]
    return numbers("head entropy share", bars)


def draw_histograms(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 2 of Kim et al. 2024: the distribution of entropy, a panel per head."""
    means = [head.mean for head in analysis().entropy]
    heads = len(means)
    grid = (-(-heads // 3), 3)
    figure, panels = caption.canvas(grid, means=means, last=means[-1], setup=our_setup())
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


def compute_by_text() -> Numbers:
    """Returns h_max and block efficiency of each of our texts; the paper prints no numbers.

    h_max: number of heads before the first one whose mean entropy is below the previous head's.
    """
    result = analysis()
    efficiencies = result.block_efficiency_by_text
    return columns({"h_max": result.h_max_by_text, "block_efficiency": efficiencies})


def draw_by_text(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 3 of Kim et al. 2024: block efficiency against h_max, a point per text."""
    r, ours = analysis().h_max_correlation, "none: nothing varies"
    if r.value is not None:
        ours = f"{r.value:.2f} [{r.low:.2f}, {r.high:.2f}]"
    figure, (axes,) = caption.canvas(ours=ours, setup=our_setup())
    for h_max in data.distinct("h_max"):
        values = sorted(data.where(h_max=h_max)["block_efficiency"])
        # Points with the same h_max are spread out horizontally.
        places = [h_max + 0.5 * ((n + 0.5) / len(values) - 0.5) for n in range(len(values))]
        axes.plot(places, values, "o", color=drawing.BLUE, markersize=4, alpha=0.7)
        mean = sum(values) / len(values)
        axes.plot([h_max - 0.35, h_max + 0.35], [mean, mean], color=drawing.VERMILION, linewidth=2)
    axes.set_xticks(sorted(data.distinct("h_max")))
    return figure


def compute_by_arcs() -> Numbers:
    """Returns block efficiencies by k, if each block's best path were known.

    A path has one of the k likeliest tokens of each head. The paper prints three values of k.

    relative: block efficiency, divided by the one at k = 1.
    low, high: interval of the block efficiency; None for the paper's numbers.
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


def draw_by_arcs(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 6 of Kim et al. 2024: our curve with its intervals, and the paper's points."""
    ours = data.where(dataset=OURS)
    k, relative = ours["k"][-1], ours["relative"][-1]
    figure, (axes,) = caption.canvas(k=k, relative=relative, setup=our_setup())
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
    label_right(axes, labels)
    return figure


def compute_by_drafts() -> Numbers:
    """Returns block efficiencies by p, the number of drafts that one call verifies.

    The paper prints p = 1 and 16 for each data set and method; only ours have intervals.
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


def draw_by_drafts(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 7 of Kim et al. 2024: block efficiency by p, in a panel per data set."""
    *papers, ours = data.distinct("dataset")
    reached = [f"{row.block_efficiency:.2f} ({row.way})" for row in data.where(dataset=ours, p=16)]
    figure, panels = caption.canvas((2, 4), reached=" and ".join(reached), setup=our_setup())
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
