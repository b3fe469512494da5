"""How many replicas keep latency targets: in closed form, by simulation, and surely enough."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import ceil

from simulator.traffic.fleet import Fleet, Goal, Replica
from simulator.traffic.limit import in_turn
from simulator.traffic.population import max_rate
from simulator.traffic.steady import steady

# Least probability with which the GPUs of an answer must suffice. If a shortage costs r times an
# idle GPU, the expected loss is least at r / (1 + r) (Arrow, Harris and Marschak 1951): r is 4.
ENOUGH = 0.8


def closed_fleet(replica: Replica, gamma: int, goal: Goal) -> Fleet | None:
    """Returns the fewest replicas that keep the targets in closed form; None: `max_gpus` do not."""
    most = goal.max_gpus // replica.gpus
    pair = replica.pair
    server = pair.server(gamma)
    least = max(1, ceil(goal.rate / float(max_rate(server, pair.demand, gamma))))

    def keeps(replicas: int) -> bool:
        state = steady(server, in_turn(pair.demand, replicas), gamma, goal.rate / replicas)
        return bool(state.share(goal.targets)[0] >= goal.share)

    if least > most or not keeps(most):
        return None
    return Fleet(replica, gamma, _fewest(keeps, least, most), goal)


def _fewest(keeps: Callable[[int], bool], least: int, most: int) -> int:
    """Returns the fewest replicas, from `least` to `most`, of which `keeps` is true."""
    low, high, step = least - 1, most, 1
    while low + step < high and not keeps(low + step):
        low, step = low + step, 2 * step
    high = min(high, low + step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def simulated_fleet(guess: Fleet) -> Fleet | None:
    """Returns the fewest replicas that keep the targets in simulations; None: `max_gpus` do not.

    guess: a fleet of about as many replicas.
    """
    most, fleet = guess.goal.max_gpus // guess.replica.gpus, guess
    if fleet.keeps:
        while fleet.replicas > 1 and (fewer := fleet.of(fleet.replicas - 1)).keeps:
            fleet = fewer
        return fleet
    while fleet.replicas < most:
        fleet = fleet.of(fleet.replicas + 1)
        if fleet.keeps:
            return fleet
    return None


def sure_fleet(fleet: Fleet) -> Fleet:
    """Returns the fewest replicas, at least the fleet's, that suffice with probability `ENOUGH`.

    The fleet itself if nothing is uncertain, or if `Fleet.most_drawn` GPUs suffice less surely.
    """
    if fleet.replica.drawn is None:
        return fleet
    return scaled_fleet(fleet, fleet.of(scaled_fleet(fleet, 1.0).replicas).scale)


def scaled_fleet(fleet: Fleet, scale: float) -> Fleet:
    """Returns `sure_fleet` without a simulation; scale: in place of `Fleet.scale`."""

    @cache
    def chance(replicas: int) -> float | None:
        return fleet.sufficient(replicas, scale=scale)

    def sure(replicas: int) -> bool:
        return (chance(replicas) or 0.0) >= ENOUGH

    if fleet.replica.drawn is None:
        counted = fleet.of(fleet.replicas)
    else:
        high = _fewest(sure, fleet.replicas, fleet.most_drawn // fleet.replica.gpus)
        counted = fleet.of(high if sure(high) else fleet.replicas)
        vars(counted)["probability"] = chance(counted.replicas)
    vars(counted)["scale"] = scale
    return counted


def spent(fleet: Fleet) -> tuple[float, float]:
    """Returns what is spent, then the negative room that is left for more requests."""
    return fleet.spent, -fleet.closed_limit


def surely_spent(fleet: Fleet) -> tuple[bool, float, float]:
    """Returns whether the fleet suffices less surely than an answer must, then `spent`."""
    return fleet.probability is not None and fleet.probability < ENOUGH, *spent(fleet)
