"""Plans for every pair of an acceptance and a cost, and schedules: a γ for each batch size."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from types import MappingProxyType

import numpy as np

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.advice import NEAR
from simulator.choice.curve import Doubt
from simulator.choice.plan import DEFAULT_MAX_GAMMA, Plan, plan
from simulator.cost.pricing import Pricing
from simulator.numerics.arguments import integer

MOST_ROWS = 10_000
# Lists of more than DENSE batch sizes are first planned in steps of the factor STEP above SMALL.
DENSE, SMALL, STEP = 256, 32, 1.06
_NONE: Mapping[int, Collection[int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Arguments of `plans`.

    acceptances, prices: each acceptance is planned with each price; at least one of each.
    c_hat, gamma, max_gamma, near, doubt: arguments of `simulator.choice.plan.plan`. Where they are
      None, c_hat comes from each pricing and gamma from the draft's configuration; a pricing may
      lower max_gamma.
    reads_again: whether the target, which has recurrent layers, reads a block's accepted tokens
      again after a rejection.
    batches: further batch sizes that may be planned.
    finer: function that returns the pricings of some of `batches`; None: only `prices` are planned.
    """

    acceptances: tuple[Acceptance, ...]
    prices: tuple[Pricing, ...]
    c_hat: float | None = None
    gamma: int | None = None
    max_gamma: int = DEFAULT_MAX_GAMMA
    near: float = NEAR
    doubt: Doubt | None = None
    reads_again: bool = False
    batches: tuple[int, ...] = ()
    finer: Callable[[tuple[int, ...]], Sequence[Pricing]] | None = None


def plans(request: PlanRequest) -> tuple[Plan, ...]:
    """Returns a plan for each acceptance with each pricing, grouped by acceptance.

    If `finer` is given, more batch sizes are planned around each change of the scheduled γ.
    """
    rows = len(request.acceptances) * len(request.prices)
    if rows > MOST_ROWS:
        raise ValueError(f"a table must have at most {MOST_ROWS} rows, got {rows}")
    found = _each(request, request.prices)
    while request.finer is not None and (middles := _middles(found, request.batches)):
        found = sorted([*found, *_each(request, request.finer(middles))], key=_place)
    return tuple(found)


def _each(request: PlanRequest, prices: Sequence[Pricing]) -> list[Plan]:
    pairs = product(request.acceptances, prices)
    return [_planned(request, acceptance, price) for acceptance, price in pairs]


def _planned(request: PlanRequest, acceptance: Acceptance, price: Pricing) -> Plan:
    if price.load is not None:
        acceptance = acceptance.at_context(price.load.context)
    if request.reads_again:
        price = replace(price, cost=price.cost.reading_again(acceptance.rejected))
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


def _place(row: Plan) -> tuple[int, int]:
    return 0 if row.price.load is None else row.price.load.context, row.price.batch


def _middles(rows: Sequence[Plan], batches: Sequence[int]) -> tuple[int, ...]:
    """Returns middle batch sizes between neighbours that differ in γ or in fitting into memory."""
    scheduled = {
        (context, batch): each.gamma
        for context, ranges in schedules(rows).items()
        for each in ranges
        for batch in range(each.first_batch, each.last_batch + 1)
    }
    found = set()
    for one, other in pairwise(rows):
        known = {(_scheduled(row, None), scheduled.get(_place(row))) for row in (one, other)}
        if _place(one)[0] == _place(other)[0] and len(known) > 1:
            between = [b for b in batches if one.price.batch < b < other.price.batch]
            found |= {between[len(between) // 2]} if between else set()
    return tuple(sorted(found))


def coarse(batches: Sequence[int]) -> tuple[int, ...]:
    """Returns a subset of batch sizes: all small ones, then steps of about 6 %."""
    found: list[int] = []
    for batch in sorted(set(batches)):
        if not found or batch <= SMALL or batch >= STEP * found[-1] or batch == max(batches):
            found.append(batch)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Range:
    """Batch sizes with one draft length.

    first_batch, last_batch: both included.
    gamma: drafted tokens per block; 0: do not speculate.
    """

    first_batch: int
    last_batch: int
    gamma: int


def schedules(rows: Sequence[Plan], only: int | None = None) -> dict[int, tuple[Range, ...]]:
    """Returns the advised γ by batch size, for each context; batches beyond memory are left out.

    If an advice is undecided, the schedule has the γ to measure.

    only: the only γ that may be drafted; None allows every γ.
    """
    fitting: dict[int, dict[int, Plan]] = {}
    for row in rows:
        load = row.price.load
        if load is not None and load.fits:
            fitting.setdefault(load.context, {})[row.price.batch] = row
    return {
        context: schedule(
            {batch: _scheduled(row, only) for batch, row in plans.items()},
            {
                batch: row.within(row.near)
                for batch, row in plans.items()
                if only is None and not row.advice.measured
            },
        )
        for context, plans in fitting.items()
    }


def _scheduled(row: Plan, only: int | None) -> int:
    if only is None:
        return row.advice.test_gamma or row.advised_gamma
    return only if only in row.within(np.inf) and row.improvement_factor > 1 else 0


def schedule(
    gammas: Mapping[int, int], near: Mapping[int, Collection[int]] = _NONE
) -> tuple[Range, ...]:
    """Returns ranges of batch sizes with one γ each, from 1 to the largest planned batch size.

    A batch size between two planned ones gets the γ of the larger: long drafts cost most where the
    load is highest. A range continues while its γ is among the `near` γ of the
    next batch size, which are almost as fast as the best γ there.
    """
    if not gammas:
        raise ValueError("gammas must have at least one batch size, got none")
    ranges: list[Range] = []
    first = 1
    for batch in sorted(integer("batch", each, at_least=1) for each in gammas):
        gamma = integer("gamma", gammas[batch])
        if ranges and ranges[-1].gamma in {gamma, *near.get(batch, ())}:
            first, gamma = ranges[-1].first_batch, ranges.pop().gamma
        ranges.append(Range(first, batch, gamma))
        first = batch + 1
    return tuple(ranges)


def last_paying_batch(ranges: tuple[Range, ...]) -> int | None:
    """Returns the largest batch size with a draft; None if the schedule never drafts."""
    return max((each.last_batch for each in ranges if each.gamma > 0), default=None)
