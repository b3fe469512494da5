"""A server whose controller chooses K, against the best fixed K and the advised schedule of K."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.choice.plan import Plan
from simulator.choice.schedule import schedules
from simulator.numerics.intervals import deviations

if TYPE_CHECKING:
    from simulator.cost.fitted.runs import Run
    from simulator.cost.zero import SpeculatingZero


@dataclass(frozen=True, slots=True)
class ControllerGain:
    """Speed of the controller over the speed of drafts of one length, at one batch size.

    gamma: draft length that the controller is compared with; 0: nothing is drafted.
    ratio: speed of the controller / speed at `gamma`, with its interval `low` to `high`.
    measured: whether the speed at `gamma` was measured at this batch size.
    """

    batch: int
    gamma: int
    ratio: float
    low: float
    high: float
    measured: bool


@dataclass(frozen=True, slots=True)
class Controlled:
    """The gains of a controller, by ascending batch size.

    over_one: over the one K that is best for all these batch sizes together, of those that were run
      at each of them if there are any.
    over_schedule: over the schedule of K by batch size.
    """

    over_one: tuple[ControllerGain, ...]
    over_schedule: tuple[ControllerGain, ...]


def pays_from(gains: Sequence[ControllerGain]) -> int | None:
    """Returns the smallest batch size from which on the controller gains; None: it never does.

    Between a measured loss and a measured gain the logarithm of the gain is linear in the logarithm
    of the batch size.
    """
    if gains[-1].ratio <= 1:
        return None
    for below, above in reversed(list(pairwise(gains))):
        if below.ratio <= 1:
            loss, gain = -math.log(below.ratio), math.log(above.ratio)
            share = loss / (loss + gain)
            batch: float = below.batch * (above.batch / below.batch) ** share
            return max(below.batch + 1, math.ceil(batch - 1e-9))
    return gains[0].batch


def controlled(runs: Sequence[Run], fixed: Sequence[Run], rows: Sequence[Plan]) -> Controlled:
    """Returns what a controller gains over fixed drafts.

    runs: times of a token under the controller, one or several at a batch size.
    fixed: runs with fixed drafts or without speculation; those beyond captured graphs count, too.
    rows: a plan for each of these batch sizes. A K that was run there has its measured time.
    """
    plans = {row.setting.batch: row for row in rows if row.setting.fits}
    places = {run.load.context for run in runs}
    if len(places) > 1:
        raise ValueError(f"controller runs must have one context, got {sorted(places)}")
    missing = sorted({run.load.batch for run in runs} - set(plans))
    if missing:
        raise ValueError(f"controller runs must be at batch sizes with costs, got {missing[0]}")
    some = [plans[batch] for batch in sorted({run.load.batch for run in runs})]
    ran = set.intersection(*({run.gamma for run in _own(row, fixed)} for row in some)) - {0}
    able = ran or set.intersection(*(set(row.candidates.tolist()) for row in some))
    one = min(
        sorted({0, *able}),
        key=lambda gamma: sum(math.log(_time(row, gamma, fixed).seconds) for row in some),
    )
    scheduled = {
        batch: part.gamma
        for ranges in schedules(some).values()
        for part in ranges
        for batch in range(part.first_batch, part.last_batch + 1)
    } or {row.setting.batch: row.advised_gamma for row in some}
    drafts = any(scheduled[row.setting.batch] for row in some)

    def gain(row: Plan, gamma: int, *, drafting: bool) -> ControllerGain:
        """Returns the gain over γ; drafting: whether the server has a draft even at γ = 0."""
        batch = row.setting.batch
        seconds, error = _mean([run for run in runs if run.load.batch == batch])
        other = _time(row, gamma, fixed, row.setting.zero if drafting else None)
        ratio = other.seconds / seconds
        reach = math.exp(deviations() * math.hypot(error, other.error))
        return ControllerGain(batch, gamma, ratio, ratio / reach, ratio * reach, other.measured)

    return Controlled(
        tuple(gain(row, one, drafting=False) for row in some),
        tuple(gain(row, scheduled[row.setting.batch], drafting=drafts) for row in some),
    )


class _Time(NamedTuple):
    """Seconds of a token, the standard deviation of their logarithm, and whether they were run."""

    seconds: float
    error: float
    measured: bool


def _own(row: Plan, fixed: Sequence[Run]) -> list[Run]:
    """Returns the runs at the plan's batch size whose drafts were not ended early."""
    batch = row.setting.batch
    runs = [run for run in fixed if run.load.batch == batch and run.drafted is None]
    return [run for run in runs if not run.speculating]


def _time(
    row: Plan, gamma: int, fixed: Sequence[Run], zero: SpeculatingZero | None = None
) -> _Time:
    """Returns the time of a token at γ, as it was run or as the plan models it.

    zero: the price of drafting nothing, if γ is 0 and the server has a draft; else not used.
    """
    if gamma == 0 and zero is not None:
        factor, low, high = 1 / zero.ratio, 1 / zero.high, 1 / zero.low
    elif timed := [run for run in _own(row, fixed) if run.gamma == gamma]:
        return _Time(*_mean(timed), True)
    elif gamma == 0:
        return _Time(row.cost.baseline_seconds, 0.0, False)
    else:
        point = row.point(gamma)
        factor = point.improvement_factor
        low = factor if point.low is None else point.low
        high = factor if point.high is None else point.high
    width = math.log(high / low)
    return _Time(row.cost.baseline_seconds / factor, width / (2 * deviations()), False)


def _mean(runs: Sequence[Run]) -> tuple[float, float]:
    """Returns the geometric mean of runs' times of a token, and its relative error."""
    mean = math.exp(float(np.mean([math.log(run.seconds_per_token) for run in runs])))
    return mean, math.sqrt(sum(run.error**2 for run in runs)) / len(runs)
