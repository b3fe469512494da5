"""The fewest GPUs, or the least money, that keep latency targets at a rate of requests.

Each replica and γ is first counted in closed form, which takes milliseconds. Those that may be best
are then counted in simulations of one replica, which takes its share of the arrivals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simulator.choice.advice import NEAR, UNDECIDED
from simulator.choice.odds import LIKELY
from simulator.numerics.arguments import Floats
from simulator.traffic.counted import closed_fleet, simulated_fleet, sure_fleet
from simulator.traffic.fleet import Fleet, Goal, Replica
from simulator.traffic.promise import Limit, Promise, binding, limit_interval, promise

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
class Saved:
    """GPUs that speculation saves: most probable, ends of the 90 % interval, P(at least one)."""

    gpus: int
    low: float | None = None
    high: float | None = None
    probability: float | None = None


@dataclass(frozen=True)
class Sizing:
    """The best fleets, and what the best one promises.

    best, best_without: the cheapest fleet, and the cheapest without speculation; None: none keeps
      the targets.
    candidates: the cheapest fleets of different replicas, the best first.
    saved: GPUs that speculation saves; None unless both fleets exist.
    gpus_at: GPUs that suffice with a probability of 50 and of 90 %; None if nothing is uncertain.
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
    gpus_at: tuple[float, float] | None = None
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
        return None if self.best is None else self.best.sufficient(self.best.gpus)

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
    def next_rates(self) -> tuple[float, float] | None:
        """The 90 % interval of `next_rate`; None if nothing is uncertain."""
        return None if self.best is None else limit_interval(self.best)


def size(
    replicas: Sequence[Replica], goal: Goal, *, check: bool = True, layouts: int = SHOWN
) -> Sizing:
    """Returns the cheapest fleets; check: whether the best one is simulated with all replicas.

    layouts: how many are simulated although the closed form says that others are cheaper.
    """
    plain = {replica.machine: replica for replica in reversed(replicas)}  # of any draft
    tried = [(replica, 0) for replica in plain.values()]
    tried += [(replica, gamma) for replica in replicas for gamma in replica.pair.gammas]
    every = (closed_fleet(replica, gamma, goal) for replica, gamma in tried)
    counted, searched = [fleet for fleet in every if fleet is not None], len(tried)
    kinds = _by_speculation(counted)
    limited = [fleet for fleets in kinds for fleet in _limited(fleets)]
    fleets = _by_speculation([*counted, *limited])
    plain_fleets, drafting = (_simulated(fleets_of_way, layouts) for fleets_of_way in fleets)
    # Fewer GPUs at the most probable values may be more where they must suffice surely.
    shown = sorted([*plain_fleets, *drafting], key=_spent)[:SHOWN]
    candidates = tuple(sorted(map(sure_fleet, shown), key=_spent))
    if not candidates:
        return Sizing(goal, None, None, searched=searched)
    best, drawn = candidates[0], candidates[0].drawn_gpus
    plain_fleets = [fleet for fleet in candidates if fleet.gamma == 0] or [
        sure_fleet(fleet) for fleet in plain_fleets[:1]
    ]
    without = plain_fleets[0] if plain_fleets else None
    return Sizing(
        goal,
        best,
        without,
        candidates,
        saved=None if without is None else saved_gpus(best, without),
        gpus_at=None if drawn is None else _quantiles(drawn),
        promise=promise(best, requests=_CHECKED, seed=goal.seed + 1) if check else None,
        searched=searched,
        by_draft=_by_draft([*candidates, *drafting], fleets[1], without, replicas),
    )


def _by_draft(
    fleets: Sequence[Fleet],
    counted: Sequence[Fleet],
    without: Fleet | None,
    replicas: Sequence[Replica],
) -> tuple[tuple[Fleet, Saved | None], ...]:
    """Returns the cheapest fleet of each draft, the cheapest first; empty with a single draft.

    fleets: simulated fleets, the cheapest first. counted: fleets in closed form, in the same order,
      for drafts without a simulated fleet.
    """
    names = {fleet.draft for fleet in counted}
    best = {fleet.draft: fleet for fleet in reversed(fleets)} if len(names) > 1 else {}
    for fleet in counted if best else ():
        if fleet.draft not in best and (enough := simulated_fleet(fleet)) is not None:
            best[fleet.draft] = enough
    compared = []
    for fleet in sorted(best.values(), key=_spent):
        # The draws of GPUs without speculation are of the same draft's costs.
        alike = [
            replica
            for replica in replicas
            if without and replica.machine == without.replica.machine
        ]
        alike = [replica for replica in alike if replica.draft == fleet.draft]
        saved = None
        if without is not None and alike:
            plain = alike[0].limited(without.replica.batch_limit)
            saved = saved_gpus(fleet, replace(without, replica=plain))
        compared.append((fleet, saved))
    return tuple(compared)


def _by_speculation(fleets: Iterable[Fleet]) -> tuple[list[Fleet], list[Fleet]]:
    """Returns the fleets without and with speculation, each the cheapest first."""
    ordered = sorted(fleets, key=_spent)
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


def _spent(fleet: Fleet) -> tuple[float, float]:
    """Returns what is spent, then the negative room that is left for more requests."""
    return fleet.spent, -fleet.closed_limit


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
    return sorted((_shortest(gammas) for gammas in tried.values()), key=_spent)


def _shortest(fleets: Sequence[Fleet]) -> Fleet:
    """Returns the smallest γ among the cheapest fleets that leave almost the most room."""
    least = min(fleet.spent for fleet in fleets)
    cheapest = [fleet for fleet in fleets if fleet.spent == least]
    room = max(fleet.closed_limit for fleet in cheapest)
    near = [fleet for fleet in cheapest if fleet.closed_limit >= room * (1 - NEAR)]
    return min(near, key=lambda fleet: fleet.gamma)


def saved_gpus(best: Fleet, without: Fleet) -> Saved:
    """Returns the GPUs that a fleet and what draws need beyond it are fewer than another's."""
    gpus, drawn, plain = without.gpus - best.gpus, best.drawn_gpus, without.drawn_gpus
    if drawn is None or plain is None:
        return Saved(gpus)
    both = np.isfinite(drawn) & np.isfinite(plain)
    drawn = np.maximum(drawn, best.gpus)
    less = np.where(both, np.where(both, plain, 0) - np.where(both, drawn, 0), np.nan)
    less = np.where(np.isfinite(drawn) & np.isinf(plain), np.inf, less)
    less = np.where(np.isnan(less), 0.0, less)
    low, high = np.quantile(less, (0.05, 0.95), method="nearest").tolist()
    return Saved(gpus, low, high, float((less > 0).mean()))


def _quantiles(drawn: Floats) -> tuple[float, float]:
    half, most = np.quantile(drawn, (0.5, 0.9), method="higher").tolist()
    return half, most
