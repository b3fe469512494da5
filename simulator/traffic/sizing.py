"""The fewest GPUs, or the least money, that keep latency targets at a rate of requests.

Each replica and γ is first counted in closed form, which takes milliseconds. Those that may be best
are then counted in simulations of one replica, which takes its share of the arrivals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.choice.advice import NEAR, UNDECIDED
from simulator.choice.odds import LIKELY
from simulator.traffic.counted import (
    ENOUGH,
    closed_fleet,
    simulated_fleet,
    spent,
    sure_fleet,
    surely_spent,
)
from simulator.traffic.fleet import Fleet, Goal, Replica
from simulator.traffic.promise import Limit, Promise, binding, limits_at, promise
from simulator.traffic.saved import Saved, saved_by_draft, saved_gpus

# Fleets that are shown, and how many of each kind are simulated at most.
SHOWN, _SIMULATED = 5, 12
# A fleet is simulated if the closed form's count is at most this many times the best simulated one;
# smaller batch limits are tried if it is at most so many times the best one in closed form.
_MAY_BE_BEST, _MAY_BE_LIMITED = 1.15, 1.5
# Batch limits that are tried are the largest one divided by these.
_PARTS = (2, 4, 8)
# Requests at all replicas in the check of the answer.
_CHECKED = 100_000


@dataclass(frozen=True)
class Sizing:
    """The best fleets, and what the best one promises.

    best, best_without: the cheapest fleet that suffices with the probability `ENOUGH`, and such a
      fleet without speculation, or one that suffices less surely; None: none keeps the targets.
    candidates: the cheapest fleets of different replicas, the best first.
    saved: GPUs that speculation saves; None unless both fleets exist.
    promise: times of requests in a simulation of the best fleet.
    by_draft: the cheapest fleet of each draft and the GPUs that it saves, the cheapest first; empty
      with a single draft.
    searched: combinations of a replica, a batch limit and a γ that were counted.
    """

    goal: Goal
    best: Fleet | None
    best_without: Fleet | None
    candidates: tuple[Fleet, ...] = ()
    saved: Saved | None = None
    promise: Promise | None = None
    searched: int = 0
    by_draft: tuple[tuple[Fleet, Saved | None], ...] = ()

    @cached_property
    def binds(self) -> Limit | None:
        """The limit of the best fleet."""
        return None if self.best is None else binding(self.best)

    @property
    def sufficient(self) -> float | None:
        """Probability that the best fleet keeps the targets; None if nothing is uncertain."""
        return None if self.best is None else self.best.probability

    @property
    def undecided(self) -> bool:
        """Whether a run must show first that speculation saves GPUs."""
        if self.best is None or self.best.gamma == 0 or self.saved is None:
            return False
        likely, known = self.saved.probability, self.best.replica.pair.calibrated
        return likely is not None and likely <= (LIKELY if known else UNDECIDED)

    @property
    def next_rate(self) -> float | None:
        """Rate above which the best fleet needs another replica."""
        return None if self.best is None else self.best.limit

    @cached_property
    def next_rates(self) -> Sequence[float] | None:
        """`next_rate` with a probability of 95 %, `ENOUGH` and 5 %; None if all is exact."""
        rates = None if self.best is None else limits_at(self.best, (0.95, ENOUGH, 0.05))
        if rates is None or (self.sufficient or 0.0) < ENOUGH:
            return rates
        return [rates[0], max(rates[1], self.goal.rate), rates[2]]  # draws count in steps of 5 %


def size(replicas: Sequence[Replica], goal: Goal, *, check: bool = True) -> Sizing:
    """Returns the cheapest fleets; check: whether the best one is simulated with all replicas."""
    searched = len(_tried(replicas))
    counted, (plain, drafting) = _searched(replicas, goal, SHOWN)
    candidates = _sure_fleets(sorted([*plain, *drafting], key=spent)[:SHOWN], every=True)
    if not candidates:
        return Sizing(goal, None, None, searched=searched)
    best = candidates[0]
    sure, speculating = _by_speculation(candidates)
    without = next(iter(sure or _sure_fleets(plain, every=False)), None)
    return Sizing(
        goal,
        best,
        without,
        tuple(candidates),
        saved=None if without is None else saved_gpus(best, without),
        promise=promise(best, requests=_CHECKED, seed=goal.seed + 1) if check else None,
        searched=searched,
        by_draft=saved_by_draft([*speculating, *drafting], counted, without, replicas),
    )


def cheapest(replicas: Sequence[Replica], goal: Goal) -> tuple[Fleet | None, Fleet | None]:
    """Returns `Sizing.best` and `Sizing.best_without` without what else `size` counts."""
    _, ways = _searched(replicas, goal, 1)
    plain, drafting = (next(iter(_sure_fleets(way, every=False)), None) for way in ways)
    return min(filter(None, (plain, drafting)), key=surely_spent, default=None), plain


def _tried(replicas: Sequence[Replica]) -> list[tuple[Replica, int]]:
    """Returns the combinations of a replica and a γ; no draft once for each machine."""
    plain = {replica.machine: replica for replica in reversed(replicas)}
    tried = [(replica, 0) for replica in plain.values()]
    return tried + [(replica, gamma) for replica in replicas for gamma in replica.pair.gammas]


def _searched(
    replicas: Sequence[Replica], goal: Goal, layouts: int
) -> tuple[list[Fleet], tuple[list[Fleet], list[Fleet]]]:
    """Returns fleets with drafts in closed form, then simulated ones without and with drafts.

    layouts: how many are simulated although the closed form says that others are cheaper.
    """
    every = (closed_fleet(replica, gamma, goal) for replica, gamma in _tried(replicas))
    counted = sorted((fleet for fleet in every if fleet is not None), key=spent)
    limited = [fleet for fleets in _by_speculation(counted) for fleet in _limited(fleets)]
    plain, drafting = _by_speculation(sorted([*counted, *limited], key=spent))
    return drafting, (_simulated(plain, layouts), _simulated(drafting, layouts))


def _by_speculation(fleets: Iterable[Fleet]) -> tuple[list[Fleet], list[Fleet]]:
    """Returns the fleets without and with speculation, each in the same order."""
    ordered = list(fleets)
    plain = [fleet for fleet in ordered if fleet.gamma == 0]
    return plain, [fleet for fleet in ordered if fleet.gamma > 0]


def _limited(fleets: Sequence[Fleet]) -> list[Fleet]:
    """Returns the fleets that are cheaper at a smaller batch limit, with this limit."""
    cheaper = []
    for fleet in fleets:
        if fleet.spent > _MAY_BE_LIMITED * fleets[0].spent:
            break
        for part in _PARTS:
            if (slots := fleet.replica.batch_limit // part) > 0:
                other = closed_fleet(fleet.replica.limited(slots), fleet.gamma, fleet.goal)
                if other is not None and other.spent < fleet.spent:
                    cheaper.append(other)
    return cheaper


def _sure_fleets(fleets: Sequence[Fleet], *, every: bool) -> list[Fleet]:
    """Returns fleets with as many replicas as suffice surely, the cheapest first.

    fleets: by what is spent at the most probable values. To suffice surely may cost others less.
    every: also those that cannot be the cheapest.
    """
    sure: list[Fleet] = []
    for fleet in fleets:
        if every or not sure or surely_spent(sure[0]) > (False, *spent(fleet)):
            sure = sorted([*sure, sure_fleet(fleet)], key=surely_spent)
    return sure


def _simulated(fleets: Sequence[Fleet], layouts: int) -> list[Fleet]:
    """Returns the cheapest fleets by simulation, one for each layout, the best first."""
    tried: dict[tuple[object, ...], list[Fleet]] = {}
    least, left = np.inf, _SIMULATED
    for fleet in fleets:
        layout = (*fleet.replica.machine, fleet.draft)
        may_be_best = fleet.spent <= _MAY_BE_BEST * least
        if left == 0 or not (may_be_best or (layout not in tried and len(tried) < layouts)):
            continue
        left -= 1
        enough = simulated_fleet(fleet)
        if enough is not None:
            tried.setdefault(layout, []).append(enough)
            least = min(least, enough.spent)
    return sorted((_shortest(gammas) for gammas in tried.values()), key=spent)


def _shortest(fleets: Sequence[Fleet]) -> Fleet:
    """Returns the smallest γ among the cheapest fleets that leave almost the most room."""
    least = min(fleet.spent for fleet in fleets)
    cheapest = [fleet for fleet in fleets if fleet.spent == least]
    room = max(fleet.closed_limit for fleet in cheapest)
    near = [fleet for fleet in cheapest if fleet.closed_limit >= room * (1 - NEAR)]
    return min(near, key=lambda fleet: fleet.gamma)
