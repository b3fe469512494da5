"""Replicas hour by hour for a trace of requests, and what one fixed number of them wastes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simulator.traffic.counted import closed_fleet, scaled_fleet, simulated_fleet
from simulator.traffic.fleet import Fleet, Goal, Replica
from simulator.traffic.trace import HOUR, Hour


@dataclass(frozen=True)
class Day:
    """One deployment in each hour of a trace.

    hours: the parts of the trace. fleets: the fewest replicas that keep the targets in each; None
      where nothing arrives: one replica stays.
    gpus: GPUs of a replica. price: money for a GPU and an hour; None: not stated.
    """

    hours: tuple[Hour, ...]
    fleets: tuple[Fleet | None, ...]
    gpus: int
    price: float | None = None

    @property
    def replicas(self) -> tuple[int, ...]:
        """Replicas that each hour needs, at least 1."""
        return tuple(1 if fleet is None else fleet.replicas for fleet in self.fleets)

    @property
    def fixed(self) -> int:
        """The one number of replicas that suffices in every hour."""
        return max(self.replicas)

    @property
    def busiest(self) -> int:
        """Place of the first hour that needs the most replicas."""
        return self.replicas.index(self.fixed)

    @property
    def gpu_hours(self) -> float:
        """GPUs times hours, with the replicas that each hour needs."""
        both = zip(self.replicas, self.hours, strict=True)
        return self.gpus * sum(replicas * hour.seconds for replicas, hour in both) / HOUR

    @property
    def fixed_gpu_hours(self) -> float:
        """GPUs times hours, with the fixed number of replicas."""
        return self.gpus * self.fixed * sum(hour.seconds for hour in self.hours) / HOUR

    @property
    def wasted(self) -> float:
        """Share of the GPU-hours of the fixed number that no hour needs, in [0, 1)."""
        return 1 - self.gpu_hours / self.fixed_gpu_hours


def day(
    hours: Sequence[Hour],
    replica: Callable[[Hour], Replica],
    gamma: int,
    goal: Callable[[Hour], Goal],
    *,
    scale: float,
) -> Day | None:
    """Returns the replicas of one deployment by hour; None if some hour needs too many GPUs.

    replica: returns the deployment with the lengths and arrivals of an hour; goal: the hour's goal.
    gamma: drafted tokens per block in every hour; 0: started without a draft.
    scale: `Fleet.scale` of one hour, for all.
    """
    fleets: list[Fleet | None] = []
    for hour in hours:
        if hour.requests is None:
            fleets.append(None)
            continue
        guess = closed_fleet(replica(hour), gamma, goal(hour))
        fleet = None if guess is None else simulated_fleet(guess)
        if fleet is None:
            return None
        fleets.append(scaled_fleet(fleet, scale))
    known = next(fleet.replica for fleet in fleets if fleet is not None)
    return Day(tuple(hours), tuple(fleets), known.gpus, known.price)
