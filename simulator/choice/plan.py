"""A plan: every number that a choice of γ rests on, from acceptance and cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.acceptance import IID_TOLERANCE, Acceptance, Kind, iid_error
from simulator.acceptance.iid import Iid
from simulator.choice import walltime
from simulator.choice.gain import (
    best_gamma,
    break_even_alpha,
    break_even_c,
    draftable,
    near_gamma,
    speed_up,
)
from simulator.choice.walltime import oracle_improvement_factor
from simulator.cost.cost import Cost
from simulator.numerics.arguments import integer, non_negative

DEFAULT_MAX_GAMMA = 32
DEFAULT_NEAR = 0.01
# Beyond it no draft is useful, and a table no table.
MOST_GAMMA = 10_000


@dataclass(frozen=True, slots=True)
class Curve:
    """What each γ gives, shape (max_gamma,) each.

    gamma: 1 to max_gamma.
    expected_tokens, improvement_factor, operations_factor: as in Plan.
    extrapolated: whether acceptance or cost was observed at smaller γ only.
    """

    gamma: NDArray[np.int64]
    expected_tokens: NDArray[np.float64]
    improvement_factor: NDArray[np.float64]
    operations_factor: NDArray[np.float64]
    extrapolated: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Plan:
    """The consequences of acceptance and cost, at one γ and along all of them.

    acceptance_kind: how acceptance is known: iid, by_position, replay or tree (its γ are nodes).
    observed_gamma: the largest γ at which acceptance was observed; None: a law says them all.
    iid_error: how far off tokens per call would be if acceptances were i.i.d., a share of them, at
      the γ where it is most; None where they are taken so anyway.
    iid_error_gamma: that γ.
    alpha: acceptance rate; what counts say of it if i.i.d. where rates by position are known.
    c: time of one draft step over time of one target step.
    c_hat: operations of one draft step over those of one target step.
    optimal_gamma: the best γ up to the cap; 0: do not speculate.
    gamma_near: the smallest γ within the share `near` of the best; 0 may be it.
    near: that share.
    gamma: the γ that the next fields are for: the one asked for, else optimal_gamma.
    expected_tokens: tokens per target call; at γ = 0 this and the factors are 1.
    improvement_factor: speed-up over the target alone, under the given acceptance and costs.
    improvement_factor_iid: the same if acceptances were i.i.d. with alpha.
    improvement_factor_theorem8: that if, besides, verification and all overhead were free.
    operations_factor: arithmetic over that of the target alone.
    memory_access_factor: reads of the target's weights and cache over those of the target alone,
      1 / E[τ] (Leviathan et al. 2023, section 3.4).
    accepted_fraction: accepted over drafted tokens; None at γ = 0.
    verification_free: whether the costs have no curve of target passes over several tokens.
    tokens_per_second: of all sequences together; None where the costs are a ratio only.
    baseline_tokens_per_second: of the target alone; None likewise.
    oracle_improvement_factor: speed-up of an oracle that knows how many drafts will be accepted;
      None where verification or overhead has a cost (as the next one, it belongs to Theorem 8).
    lower_bound: what the best γ reaches at least (Corollary 9).
    break_even_alpha: above it some γ gains, at or below it none does (but 0 gains itself where a
      block costs less than a token of the target alone). 1: with a perfect draft speculation breaks
      even at best; None: it loses even then, or drafts branch.
    break_even_c: below it some γ gains, at or above it none does. 0: a draft that costs nothing
      breaks even at best; None: even that one loses, or drafts do not take steps of c.
    cap_binds: whether a longer draft than the cap allows would be better still.
    curve: every γ from 1 to the cap.
    """

    acceptance_kind: Kind
    observed_gamma: int | None
    iid_error: float | None
    iid_error_gamma: int | None
    alpha: float
    c: float
    c_hat: float
    optimal_gamma: int
    gamma_near: int
    near: float
    gamma: int
    expected_tokens: float
    improvement_factor: float
    improvement_factor_iid: float
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

    @property
    def iid_consistent(self) -> bool | None:
        """Whether i.i.d. acceptances would foretell tokens per call well; None: taken as such."""
        return None if self.iid_error is None else abs(self.iid_error) <= IID_TOLERANCE

    def extrapolated_at(self, gamma: int) -> bool:
        """Returns whether acceptance or cost was observed at smaller γ only."""
        at = min(gamma, len(self.curve.gamma))
        return gamma > 0 and bool(self.curve.extrapolated[at - 1])


def plan(
    acceptance: Acceptance,
    cost: Cost,
    *,
    c_hat: float | None = None,
    gamma: int | None = None,
    max_gamma: int = DEFAULT_MAX_GAMMA,
    near: float = DEFAULT_NEAR,
    batch: int = 1,
    multiple: int = 1,
) -> Plan:
    """Returns what acceptance and cost lead to (Leviathan et al. 2023, §3).

    Args:
      c_hat: operations of one draft step over those of one target step; without it, c.
      gamma: the γ to evaluate, at least 1; without it, the best one.
      max_gamma: the largest γ considered for the best, and the end of the curve; in 1..10,000.
      near: what a smaller γ may lose against the best, in [0, 1).
      batch: sequences that one pass in cost is for, at least 1.

    Raises:
      ValueError: if a number is out of range, or the draft cannot be of that γ.
    """
    cap = integer("max_gamma", max_gamma, at_least=1)
    if cap > MOST_GAMMA:
        raise ValueError(f"max_gamma must be at most {MOST_GAMMA}, got {cap}")
    best = best_gamma(acceptance, cost, max_gamma=cap, multiple=multiple)
    chosen = best if gamma is None else integer("gamma", gamma, at_least=1)
    if chosen > MOST_GAMMA:
        raise ValueError(f"gamma must be at most {MOST_GAMMA}, got {chosen}")
    if not draftable(chosen, multiple):
        raise ValueError(
            f"gamma must be at most {multiple} or a multiple of it, the layers that draft, "
            f"got {chosen}"
        )
    ratio = cost.c if c_hat is None else float(non_negative("c_hat", c_hat))
    alpha = acceptance.alpha
    error = iid_error(acceptance, max_gamma=cap)
    curve = _curve(acceptance, cost, ratio, cap)
    at_chosen = _curve(acceptance, cost, ratio, cap=chosen, first=chosen)
    tokens = float(at_chosen.expected_tokens[0])
    factor = float(at_chosen.improvement_factor[0])
    possible = np.arange(1, cap + multiple + 1)
    possible = possible[draftable(possible, multiple)]
    longest, next_one = (int(each) for each in possible[(possible <= cap).sum() - 1 :][:2])
    longer = float(speed_up(acceptance, cost, next_one))
    sequences = integer("batch", batch, at_least=1)
    baseline = sequences * cost.baseline_tokens_per_second
    branches = acceptance.kind == "tree"
    textbook = cost.theorem8 and acceptance.kind == "iid"
    return Plan(
        acceptance_kind=acceptance.kind,
        observed_gamma=acceptance.observed_gamma,
        iid_error=None if error is None else error[0],
        iid_error_gamma=None if error is None else error[1],
        alpha=alpha,
        c=cost.c,
        c_hat=ratio,
        optimal_gamma=best,
        gamma_near=near_gamma(acceptance, cost, best=best, near=near, multiple=multiple),
        near=near,
        gamma=chosen,
        expected_tokens=tokens,
        improvement_factor=factor,
        improvement_factor_iid=float(speed_up(Iid(alpha), cost, chosen)),
        improvement_factor_theorem8=float(walltime.improvement_factor(alpha, chosen, cost.c)),
        operations_factor=float(at_chosen.operations_factor[0]),
        memory_access_factor=1 / tokens,
        accepted_fraction=_accepted_fraction(acceptance, chosen),
        batch=sequences,
        verification_free=cost.verification_free,
        tokens_per_second=baseline * factor if cost.in_seconds else None,
        baseline_tokens_per_second=baseline if cost.in_seconds else None,
        oracle_improvement_factor=(
            float(oracle_improvement_factor(alpha, cost.c)) if textbook else None
        ),
        lower_bound=float(walltime.lower_bound(alpha, cost.c)) if textbook else None,
        break_even_alpha=None if branches else _or_none(break_even_alpha(cost, max_gamma=cap)),
        break_even_c=(
            _or_none(break_even_c(acceptance, cost, max_gamma=cap)) if cost.by_steps else None
        ),
        cap_binds=best == longest and longer > float(curve.improvement_factor[longest - 1]),
        curve=curve,
    )


def _curve(acceptance: Acceptance, cost: Cost, c_hat: float, cap: int, *, first: int = 1) -> Curve:
    gammas = np.arange(first, cap + 1)

    def operations(lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(lengths * c_hat + lengths + 1, dtype=np.float64)

    observed = [
        known for known in (acceptance.observed_gamma, cost.observed_gamma) if known is not None
    ]
    return Curve(
        gamma=gammas,
        expected_tokens=acceptance.tokens_per_call(gammas),
        improvement_factor=speed_up(acceptance, cost, gammas),
        # Theorem 10 of Leviathan et al. 2023, block by block.
        operations_factor=acceptance.per_token(operations, gammas),
        extrapolated=gammas > min(observed, default=cap),
    )


def _accepted_fraction(acceptance: Acceptance, gamma: int) -> float | None:
    """Returns accepted over drafted tokens: each call adds one token that was not drafted."""
    drafted = float(acceptance.drafted_per_token(gamma)) if gamma > 0 else 0.0
    if drafted == 0:
        return None
    return (1 - 1 / float(acceptance.tokens_per_call(gamma))) / drafted


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
