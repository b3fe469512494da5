"""Ours: additional tokens per call by block verification (Sun et al. 2024), simulated."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from figures import drawing
from figures.labels import label_right
from figures.numbers import Numbers, numbers
from simulator.acceptance.tokens import beta_of_laws, expected_tokens

GAMMAS = (1, 2, 3, 4, 6, 8, 12, 16)
# Standard deviations of the noise that turns the target's logits into the draft's.
NOISES = (0.5, 1.0, 2.0)
PAIRS, VOCABULARY, BLOCKS, SEED = 400, 20, 20_000, 0
# The abstract: "wall-clock speedups ... of 5%-8% in a range of tasks and datasets", at γ = 8.
PUBLISHED_PERCENT = (5.0, 8.0)


def mean_tokens(counts: NDArray[np.int64]) -> tuple[float, float]:
    """Returns the mean number of tokens per block, an estimate of E[τ], and its standard error.

    counts: entry t - 1 is the number of blocks that yielded t tokens: t - 1 accepted ones, and one
      that the target adds.
    """
    # Sums of integers are exact, so every processor gives equal results.
    blocks, tokens = int(counts.sum()), np.arange(1, len(counts) + 1)
    total, squares = int((counts * tokens).sum()), int((counts * tokens**2).sum())
    return total / blocks, math.sqrt((blocks * squares - total**2) / blocks) / blocks


def simulate_block_verification(
    target: NDArray[np.float64],
    draft: NDArray[np.float64],
    gamma: int,
    *,
    blocks: int,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Returns how many blocks of γ drafted tokens yield 1, 2, ... γ + 1 tokens, shape (γ + 1,).

    Block verification (Sun et al. 2024) is simulated because its gain does not follow from α: a
    token that is likelier under the target than under the draft helps later tokens to be accepted.

    target, draft: pairs of distributions, shape (pairs, vocabulary). Each position of each block
      draws its pair independently, all pairs equally likely.
    """
    drawn_by = np.cumsum(draft, axis=1)
    share = np.ones(blocks)
    accepted = np.zeros(blocks, dtype=np.int64)
    for position in range(gamma + 1):
        pair = generator.integers(len(target), size=blocks)
        if position == gamma:
            accepted[generator.random(blocks) < share] = position
            break
        over = target[pair]
        over *= share[:, None]
        over -= draft[pair]
        left = over.clip(0.0, out=over).sum(axis=1)
        accepted[generator.random(blocks) * (left + 1 - share) < left] = position
        uniform = generator.random(blocks) * drawn_by[pair, -1]
        token = np.count_nonzero(drawn_by[pair] <= uniform[:, None], axis=1)
        share = np.minimum(1.0, share * target[pair, token] / draft[pair, token])
    return np.bincount(accepted, minlength=gamma + 1)


def compute() -> Numbers:
    """Returns tokens per target call for each α and γ, for random target and draft distributions.

    by_token: verification by token, which depends only on α (Leviathan et al. 2023, Eq. 1).
    by_block, error: verification by block, simulated, and the standard error of the simulation.
    """
    generator = np.random.default_rng(SEED)
    points = []
    for noise in NOISES:
        logits = 2 * generator.normal(size=(PAIRS, VOCABULARY))
        p = softmax(logits, axis=1)
        q = softmax(logits + noise * generator.normal(size=logits.shape), axis=1)
        alpha = float(beta_of_laws(p, q).mean())
        for gamma in GAMMAS:
            counts = simulate_block_verification(p, q, gamma, blocks=BLOCKS, generator=generator)
            by_token = float(expected_tokens(alpha, gamma))
            points.append((alpha, gamma, by_token, *mean_tokens(counts)))
    return numbers("alpha gamma by_token by_block error", points)


def gains(data: Numbers) -> dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Returns {α: (gain, standard error)} of block verification in % of tokens, each by γ."""
    tokens, blocks, error = (
        np.reshape(data[name], (-1, len(GAMMAS))) for name in ("by_token", "by_block", "error")
    )
    rows = zip(100 * (blocks / tokens - 1), 100 * error / tokens, strict=True)
    return dict(zip(data.distinct("alpha"), rows, strict=True))


def draw(data: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Draws the gain of block verification against γ, a line per α; bars: two standard errors."""
    figure, (axes,) = caption.canvas(blocks=BLOCKS)
    low, high = PUBLISHED_PERCENT
    axes.axhspan(low, high, color=drawing.PALE, linewidth=0)
    drawing.note(
        axes, "Sun et al. 2024: 5 to 8 % of time", (0.98, (low + high) / 2),
        within=("axes fraction", "data"), align="right center", colour=drawing.SMALL_PRINT,
        size=drawing.TEXT_SIZE - 1,
    )  # fmt: skip
    labels = []
    lines = gains(data).items()
    for (alpha, (gained, error)), colour in zip(lines, drawing.CYCLE, strict=False):
        axes.errorbar(
            GAMMAS, gained, yerr=2 * error, color=colour, linewidth=2, elinewidth=1, marker="o",
            markersize=4,
        )  # fmt: skip
        labels.append((float(gained[-1]), f"α = {alpha:.2f}", colour))
    axes.axhline(0, color=drawing.INK, linewidth=1)
    label_right(axes, labels)
    return figure
