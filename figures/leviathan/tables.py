"""Leviathan et al. 2023, Tables 1, 3, 4 and 5: as printed, by Theorems 8 and 10, and ours."""

from typing import Any

from estimator.validation.file import Validated
from figures import drawing
from figures.labels import label_right
from figures.numbers import Numbers, numbers, published
from simulator.choice.walltime import improvement_factor, operations_factor, optimal_gamma

C = 0.015  # of Table 5
ARGMAX_GAMMA = 8
MAX_GAMMA = 64


def compute_factors() -> Numbers:
    """Returns the rows of Table 1 of Leviathan et al. 2023, and our numbers (c = ĉ = 0)."""
    rows = []
    for alpha, gamma, *printed in published("leviathan-table1").cells:
        factors = (operations_factor(alpha, gamma, 0.0), improvement_factor(alpha, gamma, 0.0))
        rows.append((alpha, gamma, *map(float, factors), *printed))
    return numbers("alpha gamma operations speed published_operations published_speed", rows)


def draw_factors(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Table 1 of Leviathan et al. 2023; numbers that differ from the paper's are marked."""
    cells = []
    for row in data:
        factors = row.operations, row.published_operations, row.speed, row.published_speed
        cells.append((f"{row.alpha:g}", f"{row.gamma}", *(f"{factor:.2f}×" for factor in factors)))
    marked = [(i, j) for i, row in enumerate(cells) for j in (2, 4) if row[j] != row[j + 1]]
    return caption.table(cells, marked=marked)


def compute_alphas(results: Validated | None = None) -> Numbers:
    """Returns the paper's α (Table 3), then each α in `results`, by draft and temperature."""
    printed = [
        ("published", row.target, row.draft, float(row.temperature), row.alpha)
        for row in published("leviathan-table3")
    ]
    measured: dict[tuple[str, float], tuple[Any, ...]] = {}
    for row in () if results is None else results.rows:
        if row.alpha is not None:
            of = ("measured", "ours", row.draft, row.temperature, row.alpha)
            measured.setdefault((row.draft, row.temperature), of)
    caption = None if results is None else results.name
    rows = [*printed, *measured.values()]
    return numbers("source target draft temperature alpha", rows, caption)


def draw_alphas(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Table 3 of Leviathan et al. 2023: a line per pair of models, a dot per temperature."""
    # Each target's name has its own line, above its drafts.
    heights: dict[tuple[str, str], int] = {}
    names: list[tuple[int, str, str]] = []
    height = 0
    for target in data.distinct("target"):
        names.append((height, target, "bold"))
        for draft in data.where(target=target).distinct("draft"):
            height += 1
            heights[target, draft] = height
            names.append((height, drawing.short_name(draft), "normal"))
        height += 1
    printed = data.where(source="published")
    grams = [row.alpha for row in printed if "gram" in row.draft]
    small = [row.alpha for row in printed if "gram" not in row.draft]
    shown = "published" if data.caption is None else f"published, and ours from {data.caption}"
    size = (max(7.2, 5.4 + 0.085 * max(len(name) for _, name, _ in names)), 1.6 + 0.21 * height)
    figure, (axes,) = caption.canvas(
        size=size, least=min(small), most=max(small), grams=max(grams), shown=shown
    )
    temperatures = sorted(data.distinct("temperature"))
    for temperature, (mark, colour) in zip(temperatures, drawing.marks(), strict=False):
        chosen = data.where(temperature=temperature)
        places = [heights[row.target, row.draft] for row in chosen]
        axes.plot(
            chosen["alpha"], places, mark, color=colour, mew=1.8,
            markerfacecolor="none" if temperature else colour, markersize=7 if temperature else 6,
            label=f"temperature {temperature:g}",
        )  # fmt: skip
    axes.set_yticks([line for line, _, _ in names], [name for _, name, _ in names])
    for tick, (_, _, weight) in zip(axes.get_yticklabels(), names, strict=True):
        tick.set_fontweight(weight)
    axes.set(ylim=(height, -0.7), xlim=(0, 1))
    drawing.key(axes, anchor=(0.0, 1.01), columns=len(temperatures))
    return figure


def compute_speed_ups() -> Numbers:
    """Returns Table 4 of Leviathan et al. 2023, with the speed-up by Theorem 8."""
    names = "task draft temperature gamma alpha c theorem8 published_expected published_empirical"
    rows = []
    for *given, gamma, alpha, c, expected, empirical in published("leviathan-table4").cells:
        factor = float(improvement_factor(alpha, gamma, c))
        rows.append((*given, gamma, alpha, c, factor, expected, empirical))
    return numbers(names, rows)


def draw_speed_ups(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Table 4 of Leviathan et al. 2023: our number and the paper's two, a row per setting."""
    figure, (axes,) = caption.canvas()
    series = (
        ("Theorem 8, ours", "theorem8", "o", drawing.BLUE, 7.0),
        ("paper, expected", "published_expected", "|", drawing.INK, 11.0),
        ("paper, measured", "published_empirical", "D", drawing.VERMILION, 6.0),
    )
    heights = range(len(data))
    for height, values in enumerate(zip(*(data[entry[1]] for entry in series), strict=True)):
        span, label = [min(values), max(values)], None if height else "their span"
        axes.plot(span, [height, height], color=drawing.PALE, linewidth=4, label=label)
    for name, column, mark, colour, size in series:
        axes.plot(data[column], heights, mark, color=colour, markersize=size, label=name, mew=2)
    settings = [
        f"{row.task} {row.draft}, T = {row.temperature}, γ = {row.gamma}, "
        f"α = {row.alpha:.2f}, c = {row.c:.2f}"
        for row in data
    ]
    axes.set_yticks(heights, settings)
    axes.invert_yaxis()
    axes.set_xlim(1, 3.8)
    drawing.key(axes, anchor=(-0.25, 1.01), columns=4)
    return figure


def compute_lenience() -> Numbers:
    """Returns Table 5 of Leviathan et al. 2023, with the speed-up by Theorem 8 at c = 0.015.

    For standard sampling, γ is the best for each printed α; for argmax, it is the paper's γ = 8.
    published_improvement: the paper's speed-up of T5-small (§A.5).
    """
    rows = []
    for sampling, draft, lenience, alpha, printed in published("leviathan-table5").cells:
        gamma = ARGMAX_GAMMA
        if sampling == "standard":
            gamma = int(optimal_gamma(alpha, C, max_gamma=MAX_GAMMA))
        improvement = float(improvement_factor(alpha, gamma, C))
        rows.append((sampling, draft, lenience, alpha, gamma, improvement, printed))
    names = "sampling draft lenience alpha gamma improvement published_improvement"
    return numbers(names, rows)


def draw_lenience(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Table 5 of Leviathan et al. 2023: α on the left, T5-small's speed-up on the right."""
    figure, (left, right) = caption.canvas(c=C, gamma=ARGMAX_GAMMA)
    leniences, standard = data.distinct("lenience"), data.where(sampling="standard")
    places = range(len(leniences))
    lines = [(draft, standard.where(draft=draft)["alpha"]) for draft in data.distinct("draft")]
    labels = drawing.plot_lines(left, places, lines)
    left.set_ylim(0, 1)
    for sampling, colour in (("standard", drawing.GREEN), ("argmax", drawing.PURPLE)):
        rows = data.where(sampling=sampling, draft="T5-small")
        ours, paper = rows["improvement"], rows["published_improvement"]
        right.plot(places, ours, "o-", color=colour, linewidth=2, label=f"{sampling}: Theorem 8")
        right.plot(
            places, paper, "D", color=colour, markerfacecolor="white", markersize=8, mew=2,
            label=f"{sampling}: paper",
        )  # fmt: skip
    right.set_ylim(1, 5.5)
    for axes in (left, right):
        axes.set_xticks(places, [f"{lenience:g}" for lenience in leniences])
        axes.set_xlim(-0.15, len(leniences) - 0.85)
    label_right(left, labels)
    drawing.key(right, anchor=(0.02, 0.72))
    return figure
