"""Ours: additional tokens per call by block verification (Sun et al. 2024), simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from figures.drawing import style
from figures.drawing.table import FigureRows
from figures.ours.simulated_blocks import simulate_block_verification
from simulator.acceptance.divergence import alpha_of_laws
from simulator.acceptance.tokens import expected_tokens

GAMMAS = (1, 2, 3, 4, 6, 8, 12, 16)
# Standard deviations of the noise that turns the target's logits into the draft's.
NOISES = (0.5, 1.0, 2.0)
PAIRS, VOCABULARY, BLOCKS, SEED = 400, 20, 20_000, 0
# The abstract: "wall-clock speedups ... of 5%-8% in a range of tasks and datasets", at γ = 8.
PUBLISHED_PERCENT = (5.0, 8.0)


@dataclass(frozen=True, slots=True)
class BlockPoint:
    """Tokens per call at one α and γ, judged token by token and by block.

    error: standard error of by_block.
    """

    alpha: float
    gamma: int
    by_token: float
    by_block: float
    error: float

    @property
    def gain_percent(self) -> float:
        """Additional tokens per call by block verification, per cent."""
        return 100 * (self.by_block / self.by_token - 1)


def compute() -> FigureRows[BlockPoint]:
    """Returns the gains for random pairs (p, q), i.i.d. over positions, for each α and γ.

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
            points.append(BlockPoint(alpha, gamma, float(expected_tokens(alpha, gamma)), *tokens))
    return FigureRows(tuple(points))


def draw(data: FigureRows[BlockPoint]) -> style.Figure:
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
    alphas = dict.fromkeys(point.alpha for point in data.rows)
    for alpha, colour in zip(alphas, style.CYCLE, strict=False):
        line = [point for point in data.rows if point.alpha == alpha]
        gains = [point.gain_percent for point in line]
        errors = [200 * point.error / point.by_token for point in line]
        axes.errorbar(
            GAMMAS, gains, yerr=errors, color=colour, linewidth=2, elinewidth=1, marker="o",
            markersize=4,
        )  # fmt: skip
        labels.append((gains[-1], f"α = {alpha:.2f}", colour))
    axes.axhline(0, color=style.INK, linewidth=1)
    style.name_axes(axes, x="drafted tokens per block, γ", y="more tokens per call, %")
    style.label_right(axes, labels)
    return figure
