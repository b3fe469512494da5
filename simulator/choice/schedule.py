"""Schedules: the γ to run at each batch size, from plans for several batch sizes."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from simulator.choice.plan import Plan
from simulator.choice.walltime import TIE
from simulator.numerics.arguments import integer

# Lists of more than DENSE batch sizes are first planned in steps of the factor STEP above SMALL.
DENSE, SMALL, STEP = 256, 32, 1.06


def coarse(batches: Sequence[int]) -> tuple[int, ...]:
    """Returns a subset of batch sizes: all up to 32, then steps of about 6 %, and the largest."""
    chosen: list[int] = []
    for batch in sorted(set(batches)):
        if not chosen or batch <= SMALL or batch >= STEP * chosen[-1] or batch == max(batches):
            chosen.append(batch)
    return tuple(chosen)


def middles(rows: Sequence[Plan], batches: Sequence[int]) -> tuple[int, ...]:
    """Returns the elements of `batches` to plan next.

    Each lies midway between two neighbouring plans (`rows`) of one context if their γ differ, or if
    only one of the two fits into memory, or has a baseline within the captured graphs: the choice
    just beyond them is kept where it is near the best.
    """
    scheduled = {
        (context, batch): part.gamma
        for context, ranges in schedules(rows).items()
        for part in ranges
        for batch in range(part.first_batch, part.last_batch + 1)
    }
    missing = set()
    for one, other in pairwise(rows):
        # Each row's own γ and the γ of its range, because joined ranges may hide a change.
        both = {
            (_scheduled(row, None), scheduled.get(row.place), bool(row.setting.beyond_graphs(0)))
            for row in (one, other)
        }
        if one.place[0] == other.place[0] and len(both) > 1:
            between = [b for b in batches if one.cost.setting.batch < b < other.cost.setting.batch]
            missing |= {between[len(between) // 2]} if between else set()
    return tuple(sorted(missing))


@dataclass(frozen=True, slots=True)
class Range:
    """Batch sizes with one draft length.

    first_batch, last_batch: both included.
    gamma: drafted tokens per block; 0: do not speculate.
    """

    first_batch: int
    last_batch: int
    gamma: int


def schedules(
    rows: Sequence[Plan], only: int | None = None, *, restarted: bool = False
) -> dict[int, tuple[Range, ...]]:
    """Returns ranges of batch sizes with the γ to run, for each context.

    Batch sizes that do not fit into memory are left out. If the advice for a batch size is
    undecided, its γ is the γ to measure. A server that drafts at some batch size has its draft at
    all of them: γ = 0 there has the price of `CostSetting.zero`.

    only: the γ to use wherever it gains; None: the advised γ.
    restarted: compare with a server without speculation at every batch size instead.
    """
    fitting: dict[int, dict[int, Plan]] = {}
    for row in rows:
        load = row.cost.setting.load
        if load is not None and load.fits:
            fitting.setdefault(load.context, {})[row.cost.setting.batch] = row
    by_context = {}
    for context, plans in fitting.items():
        gammas = {batch: _scheduled(row, only) for batch, row in plans.items()}
        near = {
            batch: row.within(row.near)
            for batch, row in plans.items()
            if only is None and not row.advice.measured
        }
        if not restarted and any(gammas.values()):
            for batch, row in plans.items():
                if gammas[batch] == 0 and (faster := faster_than_zero(row, only)):
                    gammas[batch], near[batch] = min(faster), faster
        by_context[context] = schedule(gammas, near)
    return by_context


def _scheduled(row: Plan, only: int | None) -> int:
    if only is None:
        return row.advice.test_gamma or row.advised_gamma
    able = only in row.curve.gamma[row.allowed].tolist()
    return only if able and row.at.improvement_factor > 1 else 0


def faster_than_zero(row: Plan, only: int | None = None) -> set[int]:
    """Returns each γ near the best that is faster than a server that speculates and drafts nothing.

    Empty if there is none, or if the price of drafting nothing is not known.
    """
    zero = row.setting.zero
    gammas = row.candidates if only is None else row.candidates[row.candidates == only]
    if zero is None or len(gammas) == 0:
        return set()
    medians = row.curve.gains.medians[gammas - 1]
    if medians.max() <= -math.log(zero.ratio):
        return set()
    return set(gammas[medians >= medians.max() + math.log1p(-row.near) - TIE].tolist())


def schedule(
    gammas: Mapping[int, int], near: Mapping[int, Collection[int]] = MappingProxyType({})
) -> tuple[Range, ...]:
    """Returns ranges of batch sizes with one γ each, from 1 to the largest planned batch size.

    A batch size between two planned ones gets the γ of the larger, because long drafts cost most at
    a high load.

    gammas: the best γ of each planned batch size.
    near: for each planned batch size, the γ that are almost as fast as its best γ. A range extends
      to the next batch size if its γ is one of them.
    """
    if not gammas:
        raise ValueError("gammas must have at least one batch size, got none")
    ranges: list[Range] = []
    first = 1
    for batch in sorted(integer("batch", batch, at_least=1) for batch in gammas):
        gamma = integer("gamma", gammas[batch])
        if ranges and ranges[-1].gamma in {gamma, *near.get(batch, ())}:
            first, gamma = ranges[-1].first_batch, ranges.pop().gamma
        ranges.append(Range(first, batch, gamma))
        first = batch + 1
    return tuple(ranges)


def by_context(rows: Sequence[Plan], only: int | None = None) -> dict[int, list[tuple[int, int]]]:
    """Returns for each batch size pairs (largest context, γ to run up to it), ascending.

    A context between two planned ones gets the γ of the larger. Contexts that do not fit into
    memory are left out, as are batch sizes with a single context. only: as in `schedules`.
    """
    by_batch: dict[int, list[tuple[int, int]]] = {}
    for row in sorted((row for row in rows if row.setting.fits), key=lambda row: row.place):
        gamma, ranges = _scheduled(row, only), by_batch.setdefault(row.setting.batch, [])
        near = row.within(row.near) if only is None and not row.advice.measured else {gamma}
        if ranges and ranges[-1][1] in {gamma, *near}:
            gamma = ranges.pop()[1]
        ranges.append((row.place[0], gamma))
    planned = Counter(batch for _, batch in {row.place for row in rows})
    return {batch: ranges for batch, ranges in by_batch.items() if planned[batch] > 1}


def last_paying_batch(ranges: tuple[Range, ...]) -> int | None:
    """Returns the largest batch size with γ above 0; None if the schedule never drafts."""
    return max((part.last_batch for part in ranges if part.gamma > 0), default=None)
