"""Ours: additional tokens per call by block verification (Sun et al. 2024), simulated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from figures.drawing import style
from figures.drawing.table import Curves, columns_of
from figures.ours.simulated_blocks import simulate_block_verification
from simulator.acceptance.divergence import alpha_of_laws
from simulator.acceptance.tokens import expected_tokens

GAMMAS = (1, 2, 3, 4, 6, 8, 12, 16)
# Standard deviations of the noise that turns the target's logits into the draft's.
NOISES = (0.5, 1.0, 2.0)
PAIRS, VOCABULARY, BLOCKS, SEED = 400, 20, 20_000, 0
# The abstract: "wall-clock speedups ... of 5%-8% in a range of tasks and datasets", at γ = 8.
PUBLISHED_PERCENT = (5.0, 8.0)


def compute() -> Curves:
    """Returns tokens per call of random pairs (p, q), i.i.d. over positions, for each α and γ.

    by_token, by_block: judged token by token, and as a whole, with its standard `error`.
    Judging token by token depends only on α (Leviathan et al. 2023, Eq. 1); blocks are simulated.
    """
    generator = np.random.default_rng(SEED)
    points = []
    for noise in NOISES:
        logits = 2 * generator.normal(size=(PAIRS, VOCABULARY))
        p = softmax(logits, axis=1)
        q = softmax(logits + noise * generator.normal(size=logits.shape), axis=1)
        alpha = float(alpha_of_laws(p, q))
        for gamma in GAMMAS:
            drawn = simulate_block_verification(p, q, gamma, blocks=BLOCKS, generator=generator)
            tokens = (drawn.mean_tokens, drawn.mean_tokens_error)
            points.append((alpha, gamma, float(expected_tokens(alpha, gamma)), *tokens))
    return columns_of("alpha gamma by_token by_block error", points)


def gains(data: Curves) -> dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Returns, by α, what judging blocks gains in per cent of tokens, and the standard error."""
    tokens, blocks, error = (
        np.reshape(data.lines[name], (-1, len(GAMMAS)))
        for name in ("by_token", "by_block", "error")
    )
    rows = zip(100 * (blocks / tokens - 1), 100 * error / tokens, strict=True)
    return dict(zip(dict.fromkeys(data.x), rows, strict=True))


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: a line per α with two standard errors, and the paper's range."""
    figure, (axes,) = style.canvas(
        "Judged as a whole, more of a draft is accepted, above all of a long one",
        source="Ours: Monte Carlo over random pairs of laws (draft = target's logits and noise), "
        f"{BLOCKS} blocks each, bars two standard errors; Sun et al. 2024 report wall-clock "
        "speed-ups of 5 to 8 % over token-wise verification on their models",
    )
    low, high = PUBLISHED_PERCENT
    axes.axhspan(low, high, color=style.PALE, linewidth=0)
    style.note(
        axes, "Sun et al. 2024: 5 to 8 % of time", (0.98, (low + high) / 2),
        within=("axes fraction", "data"), align="right center", colour=style.SMALL_PRINT,
        size=style.TEXT_SIZE - 1,
    )  # fmt: skip
    labels = []
    lines = gains(data).items()
    for (alpha, (gained, error)), colour in zip(lines, style.CYCLE, strict=False):
        axes.errorbar(
            GAMMAS, gained, yerr=2 * error, color=colour, linewidth=2, elinewidth=1, marker="o",
            markersize=4,
        )  # fmt: skip
        labels.append((float(gained[-1]), f"α = {alpha:.2f}", colour))
    axes.axhline(0, color=style.INK, linewidth=1)
    style.name_axes(axes, x="drafted tokens per block, γ", y="more tokens per call, %")
    style.label_right(axes, labels)
    return figure
