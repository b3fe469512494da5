"""Accepted lengths, repetition and entropy of drafts, tabulated."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import jackknife_interval
from studies.blockwise.records import HeadEntropy, Interval, TunedWeight, Weighted, Wins
from studies.blockwise.texts import BlockText, Drafts

Counts = NDArray[np.int64]
BIN = 0.25  # bin width of the entropy histograms, in nats


def accepted(drafts: Drafts, ahead: NDArray[np.int64]) -> Counts:
    """Returns the accepted length of each block's best draft, in tokens, shape (blocks,).

    ahead: the text's tokens after each block's start, shape (blocks, steps).
    """
    several = drafts if drafts.ndim == 3 else drafts[:, None]
    agree = (several == ahead[:, None]).cumprod(axis=2).sum(axis=2)
    return np.asarray(agree.max(axis=1))


def oracle(arcs: NDArray[np.int64], ahead: NDArray[np.int64], k: int) -> Counts:
    """Returns the accepted length of each lattice's best path for the text (Kim et al. 2024, 6.3).

    arcs: lattices' tokens, shape (blocks, steps, arcs), likeliest first; a path uses the first k.
    ahead: the text's tokens after each block's start, shape (blocks, steps).
    """
    inside = (arcs[:, :, :k] == ahead[:, :, None]).any(axis=2)
    return np.asarray(inside.cumprod(axis=1).sum(axis=1))


def target_calls(accepted_lengths: Counts) -> int:
    """Returns the number of target calls that decode a text; each emits accepted tokens plus one.

    accepted_lengths: accepted tokens of the block that begins at each position, shape (tokens,).
    """
    at = calls = 0
    while at < len(accepted_lengths):
        at += int(accepted_lengths[at]) + 1
        calls += 1
    return calls


def calls_of(lengths: Sequence[Counts]) -> Counts:
    """Returns the number of target calls (`target_calls`) that decode each text, shape (texts,)."""
    return np.array([target_calls(of_text) for of_text in lengths])


def tuned(
    texts: Sequence[BlockText],
    drafts_of: Callable[[BlockText, Sequence[float]], Sequence[Drafts]],
    weights: Sequence[float],
) -> TunedWeight:
    """Returns the block efficiency at each weight of a rescorer, and the best weight.

    Block efficiency is tokens per target call, over all texts. On a tie the smallest weight wins.

    drafts_of: returns a text's rescored drafts at each weight.
    """
    tokens = sum(len(text.tokens) for text in texts)
    lengths = [
        [accepted(drafts, text.ahead()) for drafts in drafts_of(text, weights)] for text in texts
    ]
    rows = [
        Weighted(weight, tokens / int(calls_of(of_weight).sum()))
        for weight, of_weight in zip(weights, zip(*lengths, strict=True), strict=True)
    ]
    best = max(rows, key=lambda row: (row.block_efficiency, -row.weight))
    return TunedWeight(best.weight, tuple(rows))


def repeats(drafts: Drafts, tokens: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns whether each drafted token equals the previous token, shape (blocks, steps).

    tokens: the token of the model's own head, which precedes each draft, shape (blocks,).
    """
    whole = np.column_stack([tokens, drafts])
    return np.asarray(whole[:, 1:] == whole[:, :-1])


def _repeats(texts: Sequence[BlockText], drafts: Sequence[Drafts]) -> NDArray[np.bool_]:
    pairs = zip(texts, drafts, strict=True)
    return np.concatenate([repeats(of_text, text.own) for text, of_text in pairs])


def longest_runs(repeated: NDArray[np.bool_]) -> Counts:
    """Returns each block's largest number of equal tokens in a row, 1 to h, given its `repeats`."""
    longest = run = np.ones(len(repeated), np.int64)
    for again in repeated.T:
        run = np.where(again, run + 1, 1)
        longest = np.maximum(longest, run)
    return longest


def h_max(entropy: NDArray[np.float64]) -> int:
    """Returns the number of heads before the first whose mean entropy is below the previous head's.

    entropy: entropy of each head at each position (Kim et al. 2024, 6.2), shape (positions, h).
    """
    mean_entropy = entropy.mean(axis=0)
    falls = np.flatnonzero(np.diff(mean_entropy) < 0)
    return int(falls[0]) + 1 if len(falls) else len(mean_entropy)


def repetition(texts: Sequence[BlockText], drafts: Sequence[Drafts]) -> dict[str, float]:
    """Returns the % of drafted tokens that repeat the previous token, and the mean longest run.

    Kim et al. 2024, Table 3. A block's longest run is the largest number of equal tokens in a row.
    """
    repeated = _repeats(texts, drafts)
    return {
        "consecutive_percent": 100 * int(repeated.sum()) / repeated.size,
        "max_run": int(longest_runs(repeated).sum()) / len(repeated),
    }


def by_head(lengths: Sequence[Counts], heads: int) -> list[float]:
    """Returns the share of blocks in which head j is right, if heads 2..j-1 are, for j = 2..h.

    lengths: for each text, the accepted length of the block at each position.
    """
    rates = []
    for head in range(heads - 1):
        # Positions beyond the text are unknown.
        inside = np.concatenate([of[: max(len(of) - head, 0)] for of in lengths])
        reached, right = int((inside >= head).sum()), int((inside > head).sum())
        rates.append(right / reached if reached else 0.0)
    return rates


def wins(
    texts: Sequence[BlockText], base: Sequence[Drafts], drafts: Sequence[Drafts], *, gain: Counts
) -> Wins:
    """Returns how many blocks gain or lose accepted tokens by rescoring (Kim et al. 2024, Table 5).

    base, drafts: each text's drafts by the heads, and the rescored drafts.
    gain: accepted tokens with rescoring minus without it, for the blocks of all texts.
    """
    before, after = (_repeats(texts, drafted).any(axis=1) for drafted in (base, drafts))

    def counted(these: NDArray[np.bool_]) -> tuple[int, float | None, float | None]:
        count = int(these.sum())
        repaired, regressed = before & ~after & these, ~before & after & these
        if count == 0:
            return 0, None, None
        return count, 100 * int(repaired.sum()) / count, 100 * int(regressed.sum()) / count

    return Wins(int((gain == 0).sum()), *counted(gain > 0), *counted(gain < 0))


def entropies(texts: Sequence[BlockText]) -> tuple[HeadEntropy, ...]:
    """Returns each head's entropy over all positions: mean, percentiles and histogram."""
    columns = np.concatenate([text.entropy for text in texts]).T
    bins = int(columns.max() / BIN) + 1
    by_head = []
    for head, column in enumerate(columns, start=1):
        p5, p95 = (float(np.percentile(column, percent)) for percent in (5, 95))
        counts = np.bincount((column / BIN).astype(int), minlength=bins).tolist()
        shares = tuple(count / len(column) for count in counts)
        by_head.append(HeadEntropy(head, float(column.mean()), p5, p95, shares))
    return tuple(by_head)


def correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> Interval:
    """Returns Pearson's r and its interval by Fisher's transformation.

    All three numbers are None if there are fewer than 3 points, or if x or y is (or without one
    point would be) constant.
    """
    kept = [np.arange(len(x)) != left for left in range(len(x))]
    if len(x) < 3 or any(np.ptp(x[some]) == 0 or np.ptp(y[some]) == 0 for some in kept):
        return Interval(None, None, None)
    value = float(np.corrcoef(x, y)[0, 1])
    without = [np.corrcoef(x[some], y[some])[0, 1] for some in kept]

    def fisher(r: float, error: float, reach: float) -> tuple[float, float]:
        half = reach * error / max(1 - r * r, 1e-12)
        centre = np.arctanh(min(max(r, -1 + 1e-12), 1 - 1e-12))
        return float(np.tanh(centre - half)), float(np.tanh(centre + half))

    return Interval(value, *jackknife_interval(value, without, scale=fisher))
