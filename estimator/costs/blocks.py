"""Costs measured on the decoder's own blocks, in separate runs, and fitted to a cost model.

A probe is speculative decoding of whole texts with one draft length. So each cost is measured under
the conditions of a run with that length: passes of one shape in sequence, warm or cold caches, both
models alternating, contexts of all lengths, and the same share of drafts after a full acceptance.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reference.records import Generation
from simulator.cost.cost import Cost
from simulator.cost.curves import CostModel

# A block that takes this many times the median of its kind was delayed by something else.
HOLD_UP = 10


def block_means(
    texts: Sequence[Generation],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Returns the mean times of blocks by draft length, from which all costs are estimated.

    Each mean is over the blocks of all texts, because the time of a run is the sum over its blocks.
    Blocks that another program or the garbage collector delayed are left out.

    Returns:
      lengths: numbers of drafted tokens that occur, ascending, shape (lengths,).
      counts: number of blocks of each length, shape (lengths,).
      seconds: mean seconds per block of verifying, drafting and other work, shape (lengths, 3).
    """
    seconds = defaultdict(list)
    for text in texts:
        for block in text.blocks:
            parts = (block.verify_seconds, block.draft_seconds, block.other_seconds)
            seconds[len(block.drafted)].append(parts)
    kept = []
    for _, blocks in sorted(seconds.items()):
        whole = np.sum(blocks, axis=1)
        # With two blocks the faster one counts, because the other may have been delayed.
        undelayed = whole <= HOLD_UP * np.quantile(whole, 0.5, method="lower")
        kept.append(np.array(blocks)[undelayed])
    return (
        np.array(sorted(seconds)),
        np.array([len(blocks) for blocks in kept], dtype=np.float64),
        np.array([blocks.mean(axis=0) for blocks in kept]),
    )


def fit_costs(baseline: Sequence[Generation], probe: Sequence[Generation]) -> CostModel:
    """Returns the cost model fitted to the times of blocks by draft length.

        t_p(1), t_b: the baseline's forward pass, and the baseline's time outside that pass
        t_p(g+1): the target's forward pass over a draft of g tokens
        t_o: the part of the time outside both models' passes that does not grow with the draft
        t_d(g): drafting and all other time in a block of g drafted tokens, without t_o
        t_q: growth of t_d per token, without the first token

    probe: texts decoded speculatively. If all drafts have one length, t_q is the time by which
      these blocks exceed blocks without drafts. Without such blocks, t_q is the drafter's passes.
    """
    _, _, [[step, _, baseline_overhead]] = block_means(baseline)
    lengths, counts, seconds = block_means(probe)
    verify, draft, other = seconds.T
    unverified = draft + other
    drafting = lengths > 0
    used = drafting if drafting.sum() > 1 else np.ones_like(drafting)
    if len(lengths) > 1:
        step_seconds, _ = _line(lengths[used], unverified[used], counts[used])
        _, intercept = _line(lengths, other, counts)
    else:
        step_seconds = float(draft[0] / max(lengths[0], 1)) if drafting.any() else 0.0
        intercept = float(other[0])
    # At most the shortest other time, so that no draft has a negative time.
    overhead = min(max(intercept, 0.0), float(unverified.min()))
    verified = {int(g) + 1: float(t) for g, t in zip(lengths, verify, strict=True) if g > 0}
    return CostModel(
        target_seconds={1: float(step), **verified},
        draft_seconds=max(step_seconds, 0.0),
        overhead_seconds=overhead,
        baseline_overhead_seconds=float(baseline_overhead),
        draft_curve={int(g): float(t - overhead) for g, t in zip(lengths, unverified, strict=True)},
    )


def priced_ratio(cost: Cost, probe: Sequence[Generation]) -> float | None:
    """Returns c, time of a draft step over time of a target step; None if `probe` has no drafts."""
    return cost.c if any(text.drafted for text in probe) else None


def _line(
    lengths: NDArray[np.int64], seconds: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[float, float]:
    slope, intercept = np.polyfit(lengths, seconds, 1, w=np.sqrt(counts))
    return float(slope), float(intercept)
