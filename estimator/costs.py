"""Measured costs: the decoder's own blocks, run apart from what they predict, fitted to a model.

The probe is speculative decoding itself under a policy that rotates through the draft lengths of
interest. So each cost is met as the decoder meets it: caches warm or cold as they are there, the
two models in turn, contexts of every length up to the longest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from torch import Tensor

from reference.laws import Laws
from reference.records import Block
from simulator.cost import CostModel


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


def fit_costs(baseline: Sequence[Block], probe: Sequence[Block]) -> CostModel:
    """Returns the cost model of probed blocks: medians for the target, a line for the rest.

        t_p(1), t_b: the baseline's forward pass and what it spends beside it
        t_p(g+1): the target's forward pass over a draft of g tokens
        t_o + g t_q: drafting and everything else in a block of g drafted tokens

    Args:
      baseline: blocks of autoregressive decoding.
      probe: blocks of speculative decoding. Where all are of one draft length (a lookup that found
        nothing, texts that end with their first block), no line can be drawn, and t_q is the
        drafter's own passes alone.
    """
    lengths = np.array([len(block.drafted) for block in probe])
    distinct = np.unique(lengths)
    verify = np.array([block.verify_seconds for block in probe])
    beside = np.array([block.draft_seconds + block.other_seconds for block in probe])
    target = {1: float(np.median([block.verify_seconds for block in baseline]))}
    target |= {int(g) + 1: float(np.median(verify[lengths == g])) for g in distinct if g > 0}
    medians = np.array([np.median(beside[lengths == g]) for g in distinct])
    if len(distinct) > 1:
        # Noise can tilt the line of a nearly free drafter below zero, so both are bounded there.
        weights = np.sqrt([np.sum(lengths == g) for g in distinct])
        line = weights[:, None] * np.column_stack([distinct, np.ones(len(distinct))])
        (slope, intercept), _ = nnls(line, weights * medians)
    else:
        passes = np.median([block.draft_seconds for block in probe])
        slope = passes / distinct[0] if distinct[0] > 0 else 0.0
        intercept = medians[0] - slope * distinct[0]
    return CostModel(
        target_seconds=target,
        draft_seconds=float(slope),
        overhead_seconds=max(0.0, float(intercept)),
        baseline_overhead_seconds=float(np.median([block.other_seconds for block in baseline])),
    )
