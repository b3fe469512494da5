"""Plans over a grid: every acceptance with every cost, and what they say of a growing batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.advice import NEAR
from simulator.choice.curve import Doubt
from simulator.choice.plan import DEFAULT_MAX_GAMMA, Plan, plan
from simulator.choice.schedule import Range, schedule
from simulator.cost.pricing import Pricing
from simulator.cost.read_again import reading_again

MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The plans that are wanted.

    acceptances, prices: each of the one with each of the other, at least one of both.
    c_hat, gamma, max_gamma, near: as `simulator.choice.plan.plan` takes them; a pricing's own c_hat
      stands in for None, its own largest γ goes before a greater max_gamma, and a γ that its
      draft's configuration states is evaluated where none is asked for.
    doubt: covariance of measured speed-ups; None: it follows from acceptance and cost.
    reads_again: whether the target, which has recurrent layers, reads what stands of a block again
      after a rejection.
    """

    acceptances: tuple[Acceptance, ...]
    prices: tuple[Pricing, ...]
    c_hat: float | None = None
    gamma: int | None = None
    max_gamma: int = DEFAULT_MAX_GAMMA
    near: float = NEAR
    doubt: Doubt | None = None
    reads_again: bool = False


def plans(request: PlanRequest) -> tuple[Plan, ...]:
    """Returns a plan for each acceptance with each pricing, the pricings of one together.

    Raises:
      ValueError: if a number is out of range, or there are too many.
    """
    rows = len(request.acceptances) * len(request.prices)
    if rows > MOST_ROWS:
        raise ValueError(f"a table must have at most {MOST_ROWS} rows, got {rows}")
    return tuple(
        _planned(request, acceptance, price)
        for acceptance in request.acceptances
        for price in request.prices
    )


def schedules(rows: Sequence[Plan], only: int | None = None) -> dict[int, tuple[Range, ...]]:
    """Returns γ by batch size for each context; batches that do not fit are left out.

    Where the kind of draft is undecided, the γ is the one to measure.

    Args:
      only: the single γ that is drafted where it gains; None: any.
    """
    fitting: dict[int, dict[int, Plan]] = {}
    for row in rows:
        load = row.price.load
        if load is not None and load.fits:
            fitting.setdefault(load.context, {})[row.price.batch] = row
    return {
        context: schedule(
            {batch: _scheduled(row, only) for batch, row in plans.items()},
            {batch: row.within(row.near) for batch, row in plans.items() if only is None},
        )
        for context, plans in fitting.items()
    }


def _scheduled(row: Plan, only: int | None) -> int:
    if only is None:
        return row.advice.test_gamma or row.advised_gamma
    return only if only in row.within(np.inf) and row.improvement_factor > 1 else 0


def _planned(request: PlanRequest, acceptance: Acceptance, price: Pricing) -> Plan:
    if price.load is not None:
        acceptance = acceptance.at_context(price.load.context)
    if request.reads_again:
        price = reading_again(price, acceptance.rejected)
    longest = request.max_gamma
    return plan(
        acceptance,
        price,
        c_hat=price.c_hat if request.c_hat is None else request.c_hat,
        gamma=price.stated_gamma if request.gamma is None else request.gamma,
        max_gamma=longest if price.max_gamma is None else min(longest, price.max_gamma),
        near=request.near,
        doubt=request.doubt,
    )
