"""Speculation under load: the best γ for each batch size, and the size beyond which none helps.

With B sequences decoded together a verification reads B·(γ + 1) tokens. Once that fills the
hardware's arithmetic, verification is paid for by the token, and speculation falls to the inverse
of Theorem 10 of Leviathan et al. 2023: what it wastes in operations it then loses in time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simulator.choice.calibrated import calibrated_factor, calibrated_optimum
from simulator.choice.optimum import TIE
from simulator.cost.curves import CostModel
from simulator.numerics.arguments import integer, integers, probability


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What to do at one batch size.

    batch: sequences decoded together.
    gamma: the best γ; 0: do not speculate.
    improvement_factor: speed-up at that γ, 1 at γ = 0.
    tokens_per_second: of all sequences together.
    baseline_tokens_per_second: the same without speculation.
    """

    batch: int
    gamma: int
    improvement_factor: float
    tokens_per_second: float
    baseline_tokens_per_second: float


def measured_costs(
    target_seconds: Mapping[tuple[int, int], float],
    *,
    draft_seconds: Mapping[int, float],
    overhead_seconds: float = 0.0,
) -> dict[int, CostModel]:
    """Returns a cost model for each batch size from times measured under load.

    Args:
      target_seconds: time of a target pass by (batch size, new tokens of each sequence); every
        batch size needs the point of 1 new token.
      draft_seconds: time of one draft step by batch size, for the same batch sizes.
      overhead_seconds: everything else in a block.

    Raises:
      ValueError: if the batch sizes differ, are not positive, or a time is not a positive number.
    """
    batches = sorted({batch for batch, _ in target_seconds})
    if batches != sorted(draft_seconds):
        raise ValueError(
            f"draft_seconds must have the batch sizes of target_seconds {batches}, "
            f"got {sorted(draft_seconds)}"
        )
    integers("batch", batches, at_least=1)
    return {
        batch: CostModel(
            target_seconds={n: time for (size, n), time in target_seconds.items() if size == batch},
            draft_seconds=draft_seconds[batch],
            overhead_seconds=overhead_seconds,
        )
        for batch in batches
    }


def plan_batches(
    costs: Mapping[int, CostModel], *, alpha: float, max_gamma: int
) -> tuple[BatchPlan, ...]:
    """Returns the best γ at each batch size, in ascending order.

    Args:
      costs: a cost model for each batch size; of one pass over all sequences.
      alpha: acceptance rate in [0, 1].
      max_gamma: the largest γ considered, at least 1.

    Raises:
      ValueError: if an argument is out of range or not a number, or there is no batch size.
    """
    plans = []
    for batch in _sizes(costs):
        cost = costs[batch]
        gamma = int(calibrated_optimum(alpha, cost=cost, max_gamma=max_gamma))
        factor = float(calibrated_factor(alpha, gamma, cost=cost))
        plans.append(
            BatchPlan(
                batch=batch,
                gamma=gamma,
                improvement_factor=factor,
                tokens_per_second=batch * cost.baseline_tokens_per_second * factor,
                baseline_tokens_per_second=batch * cost.baseline_tokens_per_second,
            )
        )
    return tuple(plans)


def last_gaining_batch(
    costs: Mapping[int, CostModel], *, alpha: float, max_gamma: int, min_gamma: int = 1
) -> int | None:
    """Returns the largest batch size at which some γ gains; None if none does at any size.

    Beyond it speculation loses, unless it is the largest size there is a cost model for.

    Args:
      costs: a cost model for each batch size.
      alpha: acceptance rate in [0, 1].
      max_gamma: the largest γ considered, at least min_gamma.
      min_gamma: the smallest; with both equal, a server whose γ is fixed.

    Raises:
      ValueError: if an argument is out of range or not a number, or there is no batch size.
    """
    rate = float(probability("alpha", alpha))
    low = integer("min_gamma", min_gamma, at_least=1)
    gammas = np.arange(low, integer("max_gamma", max_gamma, at_least=low) + 1)
    gaining = [
        batch
        for batch in _sizes(costs)
        if calibrated_factor(rate, gammas, cost=costs[batch]).max() > 1 + TIE
    ]
    return gaining[-1] if gaining else None


def _sizes(costs: Mapping[int, CostModel]) -> list[int]:
    if not costs:
        raise ValueError("costs must have at least one batch size, got none")
    return sorted(integers("batch", list(costs), at_least=1).tolist())
