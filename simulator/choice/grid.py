"""Plans over a grid: every acceptance with every cost, and what they say of a growing batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.plan import DEFAULT_MAX_GAMMA, DEFAULT_NEAR, Plan, plan
from simulator.choice.schedule import Range, schedule
from simulator.cost.pricing import Pricing
from simulator.cost.read_again import reading_again

if TYPE_CHECKING:
    from simulator.choice.in_doubt import DoubtfulPlan

MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is to be planned.

    acceptances, prices: each of the one with each of the other, at least one of both.
    c_hat, gamma, max_gamma, near: as `simulator.choice.plan.plan` takes them; a pricing's own c_hat
      stands in for None, its own largest γ goes before a greater max_gamma, and a γ that its
      draft's configuration states is evaluated where none is asked for.
    gain_certain: whether measured speed-ups say that speculation gains; None: they do not say.
    reads_again: whether the target, which has recurrent layers, reads what stands of a block again
      after a rejection.
    """

    acceptances: tuple[Acceptance, ...]
    prices: tuple[Pricing, ...]
    c_hat: float | None = None
    gamma: int | None = None
    max_gamma: int = DEFAULT_MAX_GAMMA
    near: float = DEFAULT_NEAR
    gain_certain: bool | None = None
    reads_again: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A plan, the pricing that it is for, and where that is in doubt its intervals.

    gain_certain: whether speculation is known to gain; None: nobody measured it.
    """

    plan: Plan
    price: Pricing
    doubt: DoubtfulPlan | None = None
    gain_certain: bool | None = None

    @property
    def advised_gamma(self) -> int:
        """The γ to run; 0: not to speculate, as where no gain is certain."""
        if self.doubt is not None:
            return self.doubt.advice.gamma
        return 0 if self.gain_certain is False else self.plan.gamma_near


def plans(request: PlanRequest) -> tuple[Row, ...]:
    """Returns a plan for each acceptance with each pricing, the pricings of one together.

    Raises:
      ValueError: if a number is out of range, or there are too many.
    """
    rows = len(request.acceptances) * len(request.prices)
    if rows > MOST_ROWS:
        raise ValueError(f"a table must have at most {MOST_ROWS} rows, got {rows}")
    return tuple(
        _row(request, acceptance, price)
        for acceptance in request.acceptances
        for price in request.prices
    )


def schedules(rows: Sequence[Row]) -> dict[int, tuple[Range, ...]]:
    """Returns γ by batch size for each context; batches that do not fit are left out."""
    gammas: dict[int, dict[int, int]] = {}
    for row in rows:
        if row.price.load is not None and row.price.load.fits:
            gammas.setdefault(row.price.load.context, {})[row.price.batch] = row.advised_gamma
    return {context: schedule(of_context) for context, of_context in gammas.items()}


def _row(request: PlanRequest, acceptance: Acceptance, price: Pricing) -> Row:
    if price.load is not None:
        acceptance = acceptance.at_context(price.load.context)
    if request.reads_again:
        price = reading_again(price, acceptance.rejected)
    planned = _planned(request, acceptance, price)
    if price.posterior is None or price.point is None:
        return Row(planned, price, gain_certain=request.gain_certain)
    from simulator.choice.in_doubt import plan_in_doubt

    longest = len(planned.curve.gamma)
    doubt = plan_in_doubt(
        price.posterior, acceptance, price.point, max_gamma=longest, multiple=price.multiple
    )
    return Row(planned, price, doubt, doubt.advice.certain)


def _planned(request: PlanRequest, acceptance: Acceptance, price: Pricing) -> Plan:
    longest = request.max_gamma
    return plan(
        acceptance,
        price.cost,
        c_hat=price.c_hat if request.c_hat is None else request.c_hat,
        gamma=price.stated_gamma if request.gamma is None else request.gamma,
        max_gamma=longest if price.max_gamma is None else min(longest, price.max_gamma),
        near=request.near,
        batch=price.batch,
        multiple=price.multiple,
    )
