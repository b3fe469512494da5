"""Measured costs: the decoder's own blocks, run apart from what they predict, fitted to a model.

A probe is speculative decoding itself, of whole texts with one draft length each. So each cost is
met as a run of that length meets it: passes of one shape after another, caches warm or cold as they
are there, the two models in turn, contexts of every length up to the longest, and drafts that begin
as often after a whole acceptance.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reference.records import Generation
from simulator.cost.cost import Cost
from simulator.cost.curves import CostModel

# A block that takes so many times the median of its kind was held up by something else.
HOLD_UP = 10


def block_means(
    texts: Sequence[Generation],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Returns what blocks of each draft length take: the statistic that prices are made of.

    A mean over the blocks of all texts, as their sum is what a run takes; blocks that were held up
    (another program, the garbage collector) are left out.

    Returns:
      lengths: the numbers of drafted tokens that occur, ascending, shape (lengths,).
      counts: blocks of each, shape (lengths,).
      seconds: verifying, drafting and other, shape (lengths, 3).
    """
    seconds = defaultdict(list)
    for text in texts:
        for block in text.blocks:
            parts = (block.verify_seconds, block.draft_seconds, block.other_seconds)
            seconds[len(block.drafted)].append(parts)
    lengths = sorted(seconds)
    kept = [_kept(np.array(seconds[length])) for length in lengths]
    return (
        np.array(lengths),
        np.array([len(blocks) for blocks in kept], dtype=np.float64),
        np.array([blocks.mean(axis=0) for blocks in kept]),
    )


def _kept(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the blocks that were not held up, of all of a draft length."""
    whole = seconds.sum(axis=1)
    # Of two, the faster one: the other may be the one held up.
    kept: NDArray[np.float64] = seconds[whole <= HOLD_UP * np.quantile(whole, 0.5, method="lower")]
    return kept


def fit_costs(baseline: Sequence[Generation], probe: Sequence[Generation]) -> CostModel:
    """Returns the cost model of probing runs: at each draft length, what its blocks take.

        t_p(1), t_b: the baseline's forward pass and what it spends beside it
        t_p(g+1): the target's forward pass over a draft of g tokens
        t_o: what lies outside both models' passes and does not grow with the draft
        t_d(g): drafting and everything else in a block of g drafted tokens, beside t_o
        t_q: what t_d grows by for each token, the first apart

    Args:
      probe: texts decoded speculatively. Where all blocks that draft are of one length, t_q is
        what they take beyond blocks that draft nothing; without these it is the drafter's own
        passes alone.
    """
    _, _, [[step, _, baseline_overhead]] = block_means(baseline)
    lengths, counts, seconds = block_means(probe)
    verify, draft, other = seconds.T
    beside = draft + other
    target = {1: float(step)}
    target |= {int(g) + 1: float(t) for g, t in zip(lengths, verify, strict=True) if g > 0}
    drafting = lengths > 0
    if drafting.sum() > 1:
        step_seconds, _ = _line(lengths[drafting], beside[drafting], counts[drafting])
    elif len(lengths) > 1:
        step_seconds, _ = _line(lengths, beside, counts)
    else:
        step_seconds = float(draft[0] / max(lengths[0], 1)) if drafting.any() else 0.0
    # No more than the shortest time besides, so that no draft takes less than nothing.
    _, besides = _line(lengths, other, counts) if len(lengths) > 1 else (0.0, float(other[0]))
    overhead = min(max(besides, 0.0), float(beside.min()))
    return CostModel(
        target_seconds=target,
        draft_seconds=max(step_seconds, 0.0),
        overhead_seconds=overhead,
        baseline_overhead_seconds=float(baseline_overhead),
        draft_curve={int(g): float(t - overhead) for g, t in zip(lengths, beside, strict=True)},
    )


def priced_ratio(cost: Cost, probe: Sequence[Generation]) -> float | None:
    """Returns c, draft step over target step; None where no probing text drafted anything."""
    return cost.c if any(text.drafted for text in probe) else None


def _line(
    lengths: NDArray[np.int64], seconds: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[float, float]:
    slope, intercept = np.polyfit(lengths, seconds, 1, w=np.sqrt(counts))
    return float(slope), float(intercept)
