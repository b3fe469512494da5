"""Leviathan et al. 2023, Figures 2 to 5: Eq. 1, Theorems 8 and 10, and traces of one text."""

import numpy as np

from figures import drawing
from figures.labels import label_right
from figures.numbers import Numbers, columns, numbers
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.walltime import improvement_factor, operations_factor, optimal_gamma

GAMMAS = (1, 3, 5, 7, 10)
COSTS = (0.0, 0.01, 0.02, 0.05, 0.1)
MAX_GAMMA = 64


def compute_tokens() -> Numbers:
    """Returns the expected tokens per target call for each α, a curve per γ (Leviathan, Eq. 1)."""
    alphas = np.linspace(0.0, 1.0, 101)
    curves = {f"gamma_{gamma}": expected_tokens(alphas, gamma) for gamma in GAMMAS}
    return columns({"alpha": alphas} | curves)


def draw_tokens(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 2 of Leviathan et al. 2023: a line per γ, labelled at its limit γ + 1."""
    figure, (axes,) = caption.canvas()
    lines = [(f"γ = {gamma}", data[f"gamma_{gamma}"]) for gamma in GAMMAS]
    labels = drawing.plot_lines(axes, data["alpha"], lines)
    axes.set(xlim=(0, 1), ylim=(0.8, max(row[-1] for _, row in lines) + 0.2))
    label_right(axes, labels)
    return figure


def compute_optima() -> Numbers:
    """Returns the γ with the largest speed-up (Theorem 8) for α from 0 to 0.95, a curve per c.

    At c = 0 the best γ is infinite for every α > 0: each further token is free (section 3.6).
    """
    alphas = np.linspace(0.0, 0.95, 191)
    best = {
        f"c_{cost:g}": np.where(
            (cost == 0) & (alphas > 0), np.inf, optimal_gamma(alphas, cost, max_gamma=MAX_GAMMA)
        )
        for cost in COSTS
    }
    return columns({"alpha": alphas} | best)


def draw_optima(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 3 of Leviathan et al. 2023: the best γ against α, a line per c above 0."""
    figure, (axes,) = caption.canvas()
    lines = [(f"c = {cost:g}", data[f"c_{cost:g}"]) for cost in COSTS if cost > 0]
    labels = drawing.plot_lines(axes, data["alpha"], lines)
    axes.set_xlim(0, data["alpha"][-1])
    drawing.tenths_on_x(axes)
    axes.set_ylim(0, 1.15 * max(row[-1] for _, row in lines))
    no_limit = "c = 0: no γ is too large,\nfor any α > 0"
    drawing.note(axes, no_limit, (0.03, 0.88), within="axes fraction")
    drawing.count_on(axes.yaxis)
    label_right(axes, labels)
    return figure


def compute_factors() -> Numbers:
    """Returns speed-up, and arithmetic operations relative to no drafting, at c = ĉ = 0.

    By α, for each γ (Leviathan et al. 2023, Theorems 8 and 10).
    """
    alphas = np.linspace(0.0, 1.0, 101)
    speed = {f"speed_gamma_{g}": improvement_factor(alphas, g, 0.0) for g in GAMMAS}
    operations = {f"operations_gamma_{g}": operations_factor(alphas, g, 0.0) for g in GAMMAS}
    return columns({"alpha": alphas} | speed | operations)


def draw_factors(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 4 of Leviathan et al. 2023: speed-up on the left, operations on the right."""
    figure, (left, right) = caption.canvas()
    for axes, what in ((left, "speed"), (right, "operations")):
        lines = [(f"γ = {gamma}", data[f"{what}_gamma_{gamma}"]) for gamma in GAMMAS]
        labels = drawing.plot_lines(axes, data["alpha"], lines)
        axes.set(xlim=(0, 1), ylim=(0, max(GAMMAS) + 2.2))
        if axes is left:
            label_right(left, labels)
    for (_, name, colour), (_, row) in zip(labels, lines, strict=True):
        drawing.note(right, name, (0.0, row[0]), offset=(4, 4), colour=colour)
    return figure


# Figure 5, chosen for a clear picture; the paper's states no numbers. The unit is a target call.
ALPHA, C, TOKENS = 0.8, 0.1, 30
TRACED_GAMMAS = (7, 3, 0)
SEED = 1  # 24 of 30 drafted tokens are accepted, exactly the share α
DURATIONS = {"target encoder": 1.5, "draft encoder": 0.4, "draft": C, "target": 1.0}
COLOURS = {
    "target encoder": drawing.ORANGE,
    "draft encoder": drawing.VERMILION,
    "draft": drawing.SKY,
    "target": drawing.PURPLE,
}


def compute_traces() -> Numbers:
    """Returns the forward passes that decode one text of TOKENS tokens, for each traced γ.

    All γ share one random draw of the positions at which a draft is right, with probability α. A
    row is a pass: γ (0: standard decoding), the model part that runs, its start and its duration.
    """
    accepted = np.random.default_rng(SEED).random(TOKENS) < ALPHA
    rows = []
    for gamma in TRACED_GAMMAS:
        # Algorithm 1 as calls: both encoders, then blocks of drafts and a target call.
        calls = ["target encoder", *(["draft encoder"] if gamma else [])]
        position = 0
        while position < TOKENS:
            drafted = min(gamma, TOKENS - position - 1)
            calls += [*["draft"] * drafted, "target"]
            wrong = np.flatnonzero(~accepted[position : position + drafted])
            position += 1 + (int(wrong[0]) if wrong.size else drafted)
        start = 0.0
        for call in calls:
            rows.append((gamma, call, start, DURATIONS[call]))
            start += DURATIONS[call]
    return numbers("gamma call start duration", rows)


def draw_traces(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws Figure 5 of Leviathan et al. 2023: a row of forward passes for each trace."""
    figure, (axes,) = caption.canvas(tokens=TOKENS, alpha=ALPHA, c=C)
    named: set[str] = set()
    ends = []
    for row, gamma in enumerate(TRACED_GAMMAS):
        trace = data.where(gamma=gamma)
        for call in trace:
            axes.barh(
                row, call.duration, left=call.start, height=0.55, color=COLOURS[call.call],
                edgecolor="white", linewidth=0.3 if call.call == "draft" else 0.8,
                label=None if call.call in named else call.call,
            )  # fmt: skip
            named.add(call.call)
        ends.append(call.start + call.duration)
        count = f"{trace['call'].count('target')} target calls"
        drawing.note(axes, count, (ends[-1], row), offset=(6, 0), align="left center")
    names = [f"γ = {gamma}" if gamma else "standard" for gamma in TRACED_GAMMAS]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, max(ends))
    axes.grid(visible=False, axis="y")
    drawing.key(axes, anchor=(0.0, 1.02), columns=4)
    return figure
