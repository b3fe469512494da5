"""Measured costs: the decoder's own blocks, run apart from what they predict, fitted to a model.

The probe is speculative decoding itself under a policy that rotates through the draft lengths of
interest. So each cost is met as the decoder meets it: caches warm or cold as they are there, the
two models in turn, contexts of every length up to the longest.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor

from reference.laws.laws import Laws
from reference.records import Block, Generation
from simulator.cost.curves import CostModel

# A block that takes so many times the median of its kind was held up by something else.
HOLD_UP = 10


@dataclass(frozen=True, slots=True)
class Rotating:
    """A gamma policy that takes the given values in turn."""

    gammas: tuple[int, ...]

    @property
    def name(self) -> str:
        return "rotating"

    def gamma(self, blocks: Sequence[Block]) -> int:
        return self.gammas[len(blocks) % len(self.gammas)]

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        return True


def probe_policy(gammas: Sequence[int]) -> Rotating:
    """Returns the policy that probes these draft lengths; 0 joins a lone one: a line needs two."""
    distinct = sorted(set(gammas))
    return Rotating(tuple(distinct if len(distinct) > 1 else [0, *distinct]))


def block_means(
    generations: Sequence[Sequence[Generation]],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Returns what blocks of each draft length take: the statistic that measurements are made of.

    A mean over the blocks of a run, a median over its repeats, a mean over prompts; blocks that
    were held up (another program, the garbage collector) are left out.

    Args:
      generations: by prompt, then repeat.

    Returns:
      lengths: the numbers of drafted tokens that occur, ascending, shape (lengths,).
      counts: blocks of each in one repeat of all prompts, shape (lengths,).
      seconds: verifying, drafting and other, shape (lengths, 3).
    """
    limits = _hold_up_limits(generations)
    counts: dict[int, float] = defaultdict(float)
    totals: dict[int, NDArray[np.float64]] = defaultdict(lambda: np.zeros(3))
    for repeats in generations:
        runs: dict[int, list[NDArray[np.float64]]] = defaultdict(list)
        for run in repeats:
            blocks = [b for b in run.blocks if b.seconds <= limits[len(b.drafted)]]
            lengths = np.array([len(b.drafted) for b in blocks])
            seconds = np.array(
                [[b.verify_seconds, b.draft_seconds, b.other_seconds] for b in blocks]
            )
            for length in np.unique(lengths):
                runs[int(length)].append(seconds[lengths == length])
        for length, of_runs in runs.items():
            count = float(np.mean([len(of_run) for of_run in of_runs]))
            counts[length] += count
            totals[length] += count * np.median([of_run.mean(axis=0) for of_run in of_runs], axis=0)
    ordered = sorted(counts)
    weights = np.array([counts[length] for length in ordered])
    return (
        np.array(ordered),
        weights,
        np.array([totals[length] for length in ordered]) / weights[:, None],
    )


def _hold_up_limits(generations: Sequence[Sequence[Generation]]) -> dict[int, float]:
    """Returns the seconds that no block of a draft length takes unless held up."""
    seconds = defaultdict(list)
    for repeats in generations:
        for run in repeats:
            for block in run.blocks:
                seconds[len(block.drafted)].append(block.seconds)
    # Of two, the faster one: the other may be the one held up.
    return {
        length: HOLD_UP * float(np.quantile(times, 0.5, method="lower"))
        for length, times in seconds.items()
    }


def fit_costs(
    baseline: Sequence[Sequence[Generation]], probe: Sequence[Sequence[Generation]]
) -> CostModel:
    """Returns the cost model of probing runs: the target's passes one by one, a line for the rest.

        t_p(1), t_b: the baseline's forward pass and what it spends beside it
        t_p(g+1): the target's forward pass over a draft of g tokens
        t_o + g t_q: drafting and everything else in a block of g drafted tokens

    Args:
      baseline: autoregressive decoding, by prompt, then repeat.
      probe: speculative decoding, likewise. Where all blocks are of one draft length (a lookup
        that found nothing, texts that end with their first block), no line can be drawn, and t_q
        is the drafter's own passes alone.
    """
    _, _, [[step, _, baseline_overhead]] = block_means(baseline)
    lengths, counts, seconds = block_means(probe)
    verify, draft, other = seconds.T
    beside = draft + other
    target = {1: float(step)}
    target |= {int(g) + 1: float(t) for g, t in zip(lengths, verify, strict=True) if g > 0}
    if len(lengths) > 1:
        # Noise can tilt the line of a nearly free drafter below zero, so both are bounded there.
        weights = np.sqrt(counts)
        line = weights[:, None] * np.column_stack([lengths, np.ones(len(lengths))])
        (slope, intercept), _ = nnls(line, weights * beside)
    else:
        slope = draft[0] / lengths[0] if lengths[0] > 0 else 0.0
        intercept = beside[0] - slope * lengths[0]
    return CostModel(
        target_seconds=target,
        draft_seconds=float(slope),
        overhead_seconds=max(0.0, float(intercept)),
        baseline_overhead_seconds=float(baseline_overhead),
    )
