"""Break-even points: the acceptance rate and the c at which speculation stops to gain."""

from math import isnan, nan

import numpy as np

from simulator.acceptance.acceptance import Acceptance
from simulator.acceptance.tokens import alpha_from_block_efficiency
from simulator.cost.cost import Cost
from simulator.numerics.arguments import integer


def break_even_alpha(cost: Cost, *, max_gamma: int) -> float:
    """Returns the i.i.d. acceptance rate in [0, 1] above which some γ up to max_gamma gains.

    A block gains if it emits more tokens (E[τ]) than the baseline does in the same time. E[τ] rises
    with α from 1 to γ + 1. Under Theorem 8 the result is c (Leviathan et al. 2023, Corollary 9).
    0: every α above 0 gains. 1: a perfect draft only breaks even. NaN: even a perfect draft loses.
    """
    gamma = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
    needed = np.maximum(cost.block_seconds(gamma) / cost.baseline_seconds, 1.0)
    possible = needed <= gamma + 1
    if not possible.any():
        return float("nan")
    return float(alpha_from_block_efficiency(needed[possible], gamma[possible]).min())


def break_even_c(acceptance: Acceptance, cost: Cost, *, max_gamma: int) -> float:
    """Returns the smallest c at which no γ up to max_gamma gains over no speculation.

    Each draft step is assumed to take c target steps; the other times of `cost` are unchanged. 0: a
    draft that costs nothing only breaks even. NaN: even such a draft loses, or no token is drafted.
    """
    gamma = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)

    step = cost.c * cost.step_seconds
    others = acceptance.per_token(lambda n: np.asarray(cost.block_seconds(n) - n * step), gamma)
    spare, drafted = cost.baseline_seconds - others, acceptance.drafted_per_token(gamma)
    if not drafted.any():
        return float("nan")
    c = float((spare[drafted > 0] / drafted[drafted > 0]).max()) / cost.step_seconds
    return c if c >= 0 else float("nan")


def break_evens(
    acceptance: Acceptance, cost: Cost, *, max_gamma: int
) -> tuple[float | None, float | None]:
    """Returns the acceptance rate, and the c, at which the speed-up is 1; None: no such value."""
    alpha, c = break_even_alpha(cost, max_gamma=max_gamma), nan
    if cost.by_steps:
        c = break_even_c(acceptance, cost, max_gamma=max_gamma)
    return None if isnan(alpha) else alpha, None if isnan(c) else c
