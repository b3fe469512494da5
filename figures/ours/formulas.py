"""Ours, from formulas: speed-ups over (α, c), verification that costs, trees, hierarchies."""

import numpy as np

from figures import drawing
from figures.labels import label_right
from figures.numbers import Numbers, columns, numbers
from simulator.acceptance.acceptance import Iid
from simulator.acceptance.replay import hierarchical_cost
from simulator.choice.curve import best_gamma, speed_up
from simulator.choice.walltime import improvement_factor, optimal_gamma
from simulator.cost.cost import Cost, Ratio
from simulator.cost.curves import CostModel
from simulator.schemes.trees import best_trees, chain, tree_tokens

MAP_MAX_GAMMA = 64
LEVELS = (1.1, 1.5, 2.0, 3.0, 5.0)


def compute_map() -> Numbers:
    """Returns the best γ and its speed-up for each c from 0.01 to 1 and each α up to 0.95.

    Where no draft helps, γ is 0 and the speed-up is 1.
    """
    by_cost, by_alpha = np.geomspace(0.01, 1.0, 81), np.linspace(0.0, 0.95, 96)
    costs, alphas = (values.ravel() for values in np.meshgrid(by_cost, by_alpha, indexing="ij"))
    gamma = optimal_gamma(alphas, costs, max_gamma=MAP_MAX_GAMMA)
    factors = improvement_factor(alphas, gamma, costs)
    names = ("alpha", "c", "optimal_gamma", "improvement_factor")
    return columns(dict(zip(names, (alphas, costs, gamma, factors), strict=True)))


def draw_map(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws the best speed-up over α and c as a heat map with contours."""
    from matplotlib.colors import LogNorm

    figure, (axes,) = caption.canvas()
    alphas, costs = data.distinct("alpha"), data.distinct("c")
    speedup = np.array(data["improvement_factor"]).reshape(len(costs), len(alphas))
    axes.set_yscale("log")
    heat = axes.pcolormesh(
        alphas, costs, speedup, cmap="cividis", norm=LogNorm(1.0, float(speedup.max())),
        shading="gouraud", rasterized=True,
    )  # fmt: skip
    lines = axes.contour(alphas, costs, speedup, levels=LEVELS, colors="white", linewidths=1.2)
    axes.clabel(lines, fmt=lambda level: f"{level:g}×", fontsize=drawing.TEXT_SIZE)
    border = [alpha for alpha in alphas if costs[0] <= alpha <= costs[-1]]
    axes.plot(border, border, color=drawing.ORANGE, linewidth=2.5)
    axes.text(
        0.03, 0.7, "α = c: above this line no γ pays", color=drawing.ORANGE,
        fontsize=drawing.TEXT_SIZE, fontweight="bold",
    )  # fmt: skip
    axes.set_xlim(alphas[0], alphas[-1])
    drawing.tenths_on_x(axes)
    axes.set_ylim(costs[0], costs[-1])
    ticks = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
    axes.set_yticks(ticks, [f"{cost:g}" for cost in ticks])
    axes.minorticks_off()
    axes.grid(visible=False)
    bar = drawing.colour_bar(figure, heat, axes, label="speed-up over standard decoding")
    factors = (1, 2, 3, 5, 10)
    bar.set_ticks(factors, labels=[f"{factor}×" for factor in factors])
    bar.ax.minorticks_off()
    return figure


C = 0.05
# Additional time of a target pass per token beyond the first: t_p(n) = 1 + v·(n - 1).
SLOPES = (0.0, 0.05, 0.1, 0.2, 0.4)
MAX_GAMMA = 32


def compute_verification() -> Numbers:
    """Returns the best γ and its speed-up for each verification slope and α, at one c.

    Also returns the speed-up of the γ that Theorem 8 of Leviathan et al. 2023 chooses, which
    ignores the slope. Slope: time that each further token adds to a target pass / time of a pass
    for one token.
    """
    laws = [Iid(alpha) for alpha in np.linspace(0.0, 0.95, 96).tolist()]
    free = [best_gamma(law, Ratio(C), max_gamma=MAX_GAMMA) for law in laws]
    points = []
    for slope in SLOPES:
        cost = CostModel(target_seconds={1: 1.0, 2: 1.0 + slope}, draft_seconds=C)
        for law, of_theorem8 in zip(laws, free, strict=True):
            gamma = best_gamma(law, cost, max_gamma=MAX_GAMMA)
            factors = speed_up(law, cost, (gamma, of_theorem8)).tolist()
            points.append((law.alpha, slope, gamma, *factors))
    names = "alpha verification_slope optimal_gamma improvement_factor"
    return numbers(f"{names} improvement_factor_at_theorem8_gamma", points)


def draw_verification(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws the best γ (left) and its speed-up (right) against α, a line per verification slope."""
    figure, (left, right) = caption.canvas(c=C)
    alphas = data.distinct("alpha")
    by_slope = [data.where(verification_slope=slope) for slope in SLOPES]
    gammas, speedups = (
        drawing.plot_lines(
            axes,
            alphas,
            [(f"v = {slope:g}", rows[name]) for slope, rows in zip(SLOPES, by_slope, strict=True)],
        )
        for axes, name in ((left, "optimal_gamma"), (right, "improvement_factor"))
    )
    for rows, colour in list(zip(by_slope, drawing.CYCLE, strict=False))[1:]:
        dashed = rows["improvement_factor_at_theorem8_gamma"]
        right.plot(alphas, dashed, color=colour, linewidth=1.2, linestyle=(0, (4, 2)))
    for axes in (left, right):
        axes.set_xlim(0, alphas[-1])
        drawing.tenths_on_x(axes)
    left.set_ylim(0, 1.05 * max(last for last, _, _ in gammas))
    drawing.count_on(left.yaxis)
    right.set_yscale("log")
    ticks = (0.6, 1, 2, 4, 8)
    right.set_ylim(0.55, 1.2 * max(last for last, _, _ in speedups))
    right.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    right.minorticks_off()
    right.axhline(1, color=drawing.INK, linewidth=1)
    legend = "dashed: the γ that Theorem 8 would choose"
    drawing.note(right, legend, (0.02, 0.04), within="axes fraction")
    label_right(left, gammas)
    label_right(right, speedups)
    return figure


# How often the target's token is the draft's first, second, ... choice.
RATES = (0.6, 0.14, 0.07, 0.04, 0.03, 0.02, 0.015, 0.01)
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
MAX_DEPTH = 24
SEQUENCES = 8


def compute_trees() -> Numbers:
    """Returns the expected tokens per call by number of drafted tokens, for each shape of tree.

    best: the best tree (Sequoia, section 3.1). sequences: up to SEQUENCES chains that differ in
    their first token. binary: two children at each node, level by level. single: one chain.
    """
    trees = best_trees(RATES, max_nodes=SIZES[-1], max_depth=MAX_DEPTH)
    parents = {  # of each node; -1: the root
        "sequences": lambda nodes: [at - min(at + 1, SEQUENCES) for at in range(nodes)],
        "binary": lambda nodes: [(at - 2) // 2 for at in range(nodes)],
        "single": chain,
    }
    lines = {
        name: [tree_tokens(of(nodes), RATES) for nodes in SIZES] for name, of in parents.items()
    }
    best = [trees.tokens[MAX_DEPTH, nodes] for nodes in SIZES]
    return columns({"nodes": SIZES, "best": best, **lines})


def draw_trees(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws tokens per call against drafted tokens, a line for each shape of tree."""
    figure, (axes,) = caption.canvas(rates=", ".join(f"{rate:g}" for rate in RATES))
    names = ("best tree", "binary tree", f"{SEQUENCES} chains", "one chain")
    by_name = (data[name] for name in ("best", "binary", "sequences", "single"))
    lines = list(zip(names, by_name, strict=True))
    labels = drawing.plot_lines(axes, data["nodes"], lines)
    drawing.octaves_on_x(axes, [2**octave for octave in range(8)])
    axes.set_xlim(1, SIZES[-1])
    label_right(axes, labels)
    return figure


ALPHA, DRAFT_MAX_GAMMA = 0.8, 16
# Acceptance of the cheap drafter's tokens by the draft model, and the time of such a token relative
# to a step of the draft model, typical of an n-gram drafter and a small model.
INNER_ALPHAS, INNER_C = (0.3, 0.5, 0.7), 0.02


def compute_hierarchy() -> Numbers:
    """Returns the best speed-up for each c, without and with a cheaper drafter for the draft model.

    inner_alpha: rate at which the draft model accepts the cheap drafter's tokens; 0: no drafter.
    c: time of a draft model's step, divided by the time of a target step.
    """
    acceptance, cheap = Iid(ALPHA), Ratio(INNER_C)
    points = []
    for rate in (0.0, *INNER_ALPHAS):
        inner = best_gamma(Iid(rate), cheap, max_gamma=DRAFT_MAX_GAMMA)
        for c in np.linspace(0.02, 0.8, 40).tolist():
            cost: Cost = Ratio(c)
            if rate > 0:
                cost = hierarchical_cost(cost, inner=cheap, alpha=rate, gamma=inner)
            gamma = best_gamma(acceptance, cost, max_gamma=DRAFT_MAX_GAMMA)
            points.append((rate, c, gamma, float(speed_up(acceptance, cost, gamma))))
    return numbers("inner_alpha c gamma speedup", points)


def draw_hierarchy(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws the best speed-up against c: for the draft model alone, and with each cheap drafter."""
    ratios = data.distinct("c")
    lines = {rate: data.where(inner_alpha=rate)["speedup"] for rate in data.distinct("inner_alpha")}
    most = np.divide([*lines.values()], lines[0]).max() - 1
    figure, (axes,) = caption.canvas(most=100 * most, alpha=ALPHA, c=INNER_C)
    named = [(f"inner α = {rate:g}" if rate else "alone", line) for rate, line in lines.items()]
    labels = drawing.plot_lines(axes, ratios, named)
    axes.axhline(1, color=drawing.INK, linewidth=1)
    axes.set_xlim(0, ratios[-1])
    label_right(axes, labels)
    return figure
