"""A plan: every number that a choice of γ rests on, from an acceptance rate and costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.conversions import accepted_fraction
from simulator.acceptance.tokens import expected_tokens
from simulator.choice import walltime
from simulator.choice.operations import memory_access_factor, operations_factor
from simulator.choice.optimum import optimal_gamma
from simulator.choice.oracle import oracle_improvement_factor
from simulator.cost.curves import CostModel
from simulator.numerics.arguments import integer

DEFAULT_MAX_GAMMA = 32


@dataclass(frozen=True, slots=True)
class Curve:
    """What each γ gives, shape (max_gamma,) each.

    gamma: 1 to max_gamma.
    expected_tokens, improvement_factor, operations_factor: as in Plan.
    """

    gamma: NDArray[np.int64]
    expected_tokens: NDArray[np.float64]
    improvement_factor: NDArray[np.float64]
    operations_factor: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Plan:
    """The consequences of an acceptance rate and of costs, at one γ and along all of them.

    alpha: acceptance rate.
    c: time of one draft step over time of one target step.
    c_hat: operations of one draft step over those of one target step.
    optimal_gamma: the best γ up to the cap; 0: do not speculate.
    gamma: the γ that the next fields are for: the one asked for, else optimal_gamma.
    expected_tokens: tokens per target call; at γ = 0 this and the factors are 1.
    improvement_factor: speed-up over the target alone, under the given costs.
    improvement_factor_theorem8: the same if verification and all overhead were free.
    operations_factor: arithmetic over that of the target alone.
    memory_access_factor: reads of the target's weights over those of the target alone.
    accepted_fraction: accepted over drafted tokens; None at γ = 0.
    batch: sequences decoded together.
    verification_free: whether the costs have no curve of target passes over several tokens.
    tokens_per_second: of all sequences together; None where the costs are a ratio only.
    baseline_tokens_per_second: of the target alone; None likewise.
    oracle_improvement_factor: speed-up of an oracle that knows how many drafts will be accepted;
      None where verification or overhead has a cost (as the next one, it belongs to Theorem 8).
    lower_bound: what the best γ reaches at least (Corollary 9).
    break_even_alpha: above it some γ gains, at or below it none does (but 0 gains itself where a
      block costs less than a token of the target alone). 1: with a perfect draft speculation breaks
      even at best; None: it loses even then.
    break_even_c: below it some γ gains, at or above it none does. 0: a draft that costs nothing
      breaks even at best; None: even that one loses.
    cap_binds: whether a longer draft than the cap allows would be better still.
    curve: every γ from 1 to the cap.
    """

    alpha: float
    c: float
    c_hat: float
    optimal_gamma: int
    gamma: int
    expected_tokens: float
    improvement_factor: float
    improvement_factor_theorem8: float
    operations_factor: float
    memory_access_factor: float
    accepted_fraction: float | None
    batch: int
    verification_free: bool
    tokens_per_second: float | None
    baseline_tokens_per_second: float | None
    oracle_improvement_factor: float | None
    lower_bound: float | None
    break_even_alpha: float | None
    break_even_c: float | None
    cap_binds: bool
    curve: Curve


def plan(
    alpha: float,
    *,
    c: float | None = None,
    costs: CostModel | None = None,
    c_hat: float | None = None,
    gamma: int | None = None,
    max_gamma: int = DEFAULT_MAX_GAMMA,
    batch: int = 1,
) -> Plan:
    """Returns what an acceptance rate and costs lead to (Leviathan et al. 2023, §3).

    Args:
      alpha: acceptance rate in [0, 1].
      c: time of one draft step over time of one target step, verification free (Theorem 8); this or
        costs.
      costs: measured times; this or c.
      c_hat: operations of one draft step over those of one target step; without it, c.
      gamma: the γ to evaluate, at least 1; without it, the best one.
      max_gamma: the largest γ considered for the best, and the end of the curve.
      batch: sequences that one pass in costs is for, at least 1.

    Raises:
      ValueError: if a number is out of range, or not exactly one of c and costs is given.
    """
    if (c is None) == (costs is None):
        raise ValueError("give either c or costs, and not both")
    times = CostModel.theorem8(c) if c is not None else costs
    assert times is not None
    cap = integer("max_gamma", max_gamma, at_least=1)
    if c is not None:
        best = int(optimal_gamma(alpha, c, max_gamma=cap))
        alpha_needed = float(walltime.break_even_alpha(c))
        c_needed = float(walltime.break_even_c(alpha))
    else:
        best = int(times.optimal_gamma(alpha, max_gamma=cap))
        alpha_needed = times.break_even_alpha(max_gamma=cap)
        c_needed = float(times.break_even_c(alpha, max_gamma=cap))
    chosen = best if gamma is None else integer("gamma", gamma, at_least=1)
    overheads = (times.overhead_seconds, times.baseline_overhead_seconds)
    theorem8_holds = times.verification_free and overheads == (0, 0)
    operations_ratio = times.c if c_hat is None else c_hat
    curve = _curve(alpha, times, operations_ratio, cap)
    longer = float(times.improvement_factor(alpha, cap + 1))
    sequences = integer("batch", batch, at_least=1)
    return Plan(
        alpha=float(alpha),
        c=times.c,
        c_hat=float(operations_ratio),
        optimal_gamma=best,
        gamma=chosen,
        expected_tokens=float(expected_tokens(alpha, chosen)),
        improvement_factor=float(times.improvement_factor(alpha, chosen)),
        improvement_factor_theorem8=float(walltime.improvement_factor(alpha, chosen, times.c)),
        operations_factor=float(operations_factor(alpha, chosen, operations_ratio)),
        memory_access_factor=float(memory_access_factor(alpha, chosen)),
        accepted_fraction=float(accepted_fraction(alpha, chosen)) if chosen > 0 else None,
        batch=sequences,
        verification_free=times.verification_free,
        tokens_per_second=(
            sequences * float(times.tokens_per_second(alpha, chosen)) if c is None else None
        ),
        baseline_tokens_per_second=(
            sequences * times.baseline_tokens_per_second if c is None else None
        ),
        oracle_improvement_factor=(
            float(oracle_improvement_factor(alpha, times.c)) if theorem8_holds else None
        ),
        lower_bound=float(walltime.lower_bound(alpha, times.c)) if theorem8_holds else None,
        break_even_alpha=_or_none(alpha_needed),
        break_even_c=_or_none(c_needed),
        cap_binds=best == cap and longer > float(curve.improvement_factor[-1]),
        curve=curve,
    )


def _curve(alpha: float, costs: CostModel, c_hat: float, cap: int) -> Curve:
    gammas = np.arange(1, cap + 1)
    return Curve(
        gamma=gammas,
        expected_tokens=expected_tokens(alpha, gammas),
        improvement_factor=costs.improvement_factor(alpha, gammas),
        operations_factor=operations_factor(alpha, gammas, c_hat),
    )


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
