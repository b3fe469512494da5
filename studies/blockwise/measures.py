"""What is asked of drafts: how far they stand, how many calls that makes, whether they repeat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from studies.blockwise.drafts import Drafts

Counts = NDArray[np.int64]


def accepted(drafts: Drafts, ahead: NDArray[np.int64]) -> Counts:
    """Returns how many tokens of each block's draft, or of its best draft, are the text's.

    Args:
      drafts: shape (blocks, steps) or (blocks, p, steps).
      ahead: the text's tokens, shape (blocks, steps).

    Returns:
      shape (blocks,).
    """
    several = drafts if drafts.ndim == 3 else drafts[:, None]
    agree = (several == ahead[:, None]).cumprod(axis=2).sum(axis=2)
    longest: Counts = agree.max(axis=1)
    return longest


def oracle(tokens: NDArray[np.int64], ahead: NDArray[np.int64], k: int) -> Counts:
    """Returns how far the best path goes with the text (Kim et al. 2024, 6.3), shape (blocks,).

    Args:
      tokens: of the lattices, shape (blocks, steps, arcs), the likeliest first.
      ahead: the text's tokens, shape (blocks, steps).
    """
    inside = (tokens[:, :, :k] == ahead[:, :, None]).any(axis=2)
    reached: Counts = inside.cumprod(axis=1).sum(axis=1)
    return reached


def target_calls(accepted_lengths: Counts) -> int:
    """Returns the calls that decode a text whose blocks stand so far.

    A block's call emits what stands and one token more.

    Args:
      accepted_lengths: of the block that would begin at each position of the text.
    """
    at = calls = 0
    while at < len(accepted_lengths):
        at += int(accepted_lengths[at]) + 1
        calls += 1
    return calls


def repeats(drafts: Drafts, own: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns which tokens of a block are the one before it, shape (blocks, steps).

    Args:
      drafts: shape (blocks, steps).
      own: the first head's token, which each draft goes on from, shape (blocks,).
    """
    whole = np.column_stack([own, drafts])
    again: NDArray[np.bool_] = whole[:, 1:] == whole[:, :-1]
    return again


def longest_runs(repeated: NDArray[np.bool_]) -> Counts:
    """Returns the length of the longest run of one token in each block, 1 to h."""
    longest = np.ones(len(repeated), np.int64)
    run = np.ones(len(repeated), np.int64)
    for again in repeated.T:
        run = np.where(again, run + 1, 1)
        longest = np.maximum(longest, run)
    return longest


def increasing_heads(mean_entropy: NDArray[np.float64]) -> int:
    """Returns h_max: the head up to which the mean entropy increases (Kim et al. 2024, 6.2).

    Args:
      mean_entropy: by head, the model's own first, shape (h,).
    """
    falls = np.flatnonzero(np.diff(mean_entropy) < 0)
    return int(falls[0]) + 1 if len(falls) else len(mean_entropy)
