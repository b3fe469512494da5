"""A draft model that a cheaper drafter accelerates in its turn: Leviathan et al. 2023, §6.

Two pairs, each with its α and c: the draft model for the target (alpha, c, gamma), and the cheap
drafter for the draft model (inner_alpha, inner_c, inner_gamma). Inner blocks are lossless, so the
γ tokens they make up have the draft model's law and the outer α stays what it was. They are a text
of finite length (`chance/finite.py`): the last inner block drafts no more than is left to emit.
Verification is free at both levels, as in Theorem 8. The paper leaves this to future work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import expected_tokens
from simulator.choice.optimum import TIE
from simulator.monte_carlo.finite import remaining_costs, text_costs
from simulator.numerics.arguments import integer, integers, non_negative, probability, same_shape


@dataclass(frozen=True, slots=True)
class HierarchicalOptimum:
    """The best pair of draft lengths and what it gains; arrays of one shape.

    gamma: tokens drafted for the target; 0: do not speculate.
    inner_gamma: tokens drafted for the draft model; 0: the draft model decodes alone.
    improvement_factor: speed-up over the target alone.
    """

    gamma: NDArray[np.int64]
    inner_gamma: NDArray[np.int64]
    improvement_factor: NDArray[np.float64]


def drafting_cost(
    gamma: ArrayLike,
    *,
    inner_alpha: ArrayLike,
    inner_gamma: ArrayLike,
    c: ArrayLike,
    inner_c: ArrayLike,
) -> NDArray[np.float64]:
    """Returns the expected time of drafting γ tokens hierarchically, in target steps.

    c times the finite-text cost W(γ) of the inner pair; at inner_gamma = 0 it is γc.

    Args:
      gamma: tokens drafted for the target, at least 0, shape (...); all broadcast.
      inner_alpha: acceptance rate in [0, 1] of the cheap drafter by the draft model.
      inner_gamma: tokens drafted for the draft model per inner block, at least 0.
      c: time of one draft-model step over one target step, at least 0.
      inner_c: time of one cheap step over one draft-model step, at least 0.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    arguments = {
        "gamma": integers("gamma", gamma),
        "inner_alpha": probability("inner_alpha", inner_alpha),
        "inner_gamma": integers("inner_gamma", inner_gamma),
        "c": non_negative("c", c),
        "inner_c": non_negative("inner_c", inner_c),
    }
    shape = same_shape(arguments)
    lengths, rates, inner_gammas, steps, cheap = (
        np.broadcast_to(array, shape).ravel() for array in arguments.values()
    )
    cost = text_costs(
        rates, inner_gammas, lengths, lambda value, chosen: _inner_prices(value, cheap[chosen])
    )
    return np.asarray(steps * cost).reshape(shape)[()]


def hierarchical_improvement_factor(
    alpha: ArrayLike,
    gamma: ArrayLike,
    *,
    inner_alpha: ArrayLike,
    inner_gamma: ArrayLike,
    c: ArrayLike,
    inner_c: ArrayLike,
) -> NDArray[np.float64]:
    """Returns the expected speed-up over the target alone.

        E[τ(α, γ)] / (1 + drafting_cost)      (Leviathan et al. 2023, Theorem 8 with §6)

    Args:
      alpha: acceptance rate in [0, 1] of the draft model by the target, shape (...); all broadcast.
      gamma, inner_alpha, inner_gamma, c, inner_c: as in drafting_cost.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    cost = drafting_cost(
        gamma, inner_alpha=inner_alpha, inner_gamma=inner_gamma, c=c, inner_c=inner_c
    )
    rate = probability("alpha", alpha)
    same_shape({"alpha": rate, "the arguments of drafting_cost": np.asarray(cost)})
    return expected_tokens(rate, gamma) / (1 + cost)


@dataclass(frozen=True, slots=True)
class Stage:
    """One drafter of a hierarchy of any depth, as the stage before it has it.

    alpha: how likely that stage accepts its tokens, in [0, 1]; the first stage's is the target.
    gamma: tokens that it drafts in a block of that stage, at least 0.
    c: time of one of its own steps over one of that stage's, at least 0.
    """

    alpha: float
    gamma: int
    c: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", float(probability("alpha", self.alpha)))
        object.__setattr__(self, "gamma", integer("gamma", self.gamma))
        object.__setattr__(self, "c", float(non_negative("c", self.c)))


def staged_drafting_cost(stages: Sequence[Stage]) -> float:
    """Returns the expected time of a draft for the target, in steps of the target.

    The first stage's tokens are a text of finite length that it decodes in blocks which the second
    drafts, those of the third, and so on; the last decodes alone. Of two stages it is
    `drafting_cost`.

    Args:
      stages: from the target's own draft down, at least one.

    Raises:
      ValueError: if there is none.
    """
    if not stages:
        raise ValueError("stages must be at least one, got none")
    costs = np.arange(stages[-1].gamma + 1, dtype=np.float64)
    for stage, inner in zip(stages[-2::-1], stages[:0:-1], strict=True):
        costs = remaining_costs(np.asarray(inner.alpha), 1 + inner.c * costs, stage.gamma)
    return float(stages[0].c * costs[-1])


def staged_improvement_factor(stages: Sequence[Stage]) -> float:
    """Returns the expected speed-up of a hierarchy over the target alone (Theorem 8 with §6).

    Verification is free at every level. Arguments and errors as in staged_drafting_cost.
    """
    cost = staged_drafting_cost(stages)
    return float(expected_tokens(stages[0].alpha, stages[0].gamma)) / (1 + cost)


def optimal_gammas(
    alpha: ArrayLike,
    *,
    inner_alpha: ArrayLike,
    c: ArrayLike,
    inner_c: ArrayLike,
    max_gamma: int,
    max_inner_gamma: int,
) -> HierarchicalOptimum:
    """Returns the pair of draft lengths with the largest improvement factor, by a scan.

    Where several tie it is the one of smallest inner γ, then of smallest γ.

    Args:
      alpha, inner_alpha, c, inner_c: as in hierarchical_improvement_factor; they broadcast.
      max_gamma, max_inner_gamma: the largest considered, at least 1. (An inner γ of gamma or more
        is never reached.)

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    arguments = {
        "alpha": probability("alpha", alpha),
        "inner_alpha": probability("inner_alpha", inner_alpha),
        "c": non_negative("c", c),
        "inner_c": non_negative("inner_c", inner_c),
    }
    shape = same_shape(arguments)
    rate, inner_rate, step, cheap = (np.broadcast_to(a, shape) for a in arguments.values())
    longest = integer("max_gamma", max_gamma, at_least=1)
    tokens = [expected_tokens(rate, gamma) for gamma in range(longest + 1)]
    best = np.ones(shape)
    chosen = np.zeros(shape, dtype=np.int64)
    inner_chosen = np.zeros(shape, dtype=np.int64)
    for inner_gamma in range(integer("max_inner_gamma", max_inner_gamma, at_least=1) + 1):
        costs = remaining_costs(inner_rate, _inner_prices(inner_gamma, cheap), longest)
        for gamma in range(1, longest + 1):
            factor = tokens[gamma] / (1 + step * costs[gamma])
            better = factor > best * (1 + TIE)
            best = np.where(better, factor, best)
            chosen = np.where(better, gamma, chosen)
            inner_chosen = np.where(better, inner_gamma, inner_chosen)
    return HierarchicalOptimum(
        gamma=chosen[()], inner_gamma=inner_chosen[()], improvement_factor=best[()]
    )


def _inner_prices(inner_gamma: int, inner_c: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the time of inner blocks that draft 0, …, inner_gamma tokens, in draft steps."""
    return 1 + np.multiply.outer(np.arange(inner_gamma + 1), inner_c)
