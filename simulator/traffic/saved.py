"""The GPUs that speculation saves, of an answer and of each draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simulator.traffic.counted import simulated_fleet, sure_fleet, surely_spent
from simulator.traffic.fleet import Fleet, Replica


@dataclass(frozen=True)
class Saved:
    """GPUs that speculation saves: most probable, ends of the 90 % interval, P(at least one)."""

    gpus: int
    low: float | None = None
    high: float | None = None
    probability: float | None = None


def saved_gpus(best: Fleet, without: Fleet) -> Saved:
    """Returns the GPUs that one fleet needs less than another, from the same draws."""
    gpus, drawn, plain = without.gpus - best.gpus, best.drawn_gpus, without.drawn_gpus
    if drawn is None or plain is None:
        return Saved(gpus)
    both = np.isfinite(drawn) & np.isfinite(plain)
    less = np.where(both, np.where(both, plain, 0) - np.where(both, drawn, 0), np.nan)
    less = np.where(np.isfinite(drawn) & np.isinf(plain), np.inf, less)
    less = np.where(np.isnan(less), 0.0, less)
    low, high = np.quantile(less, (0.05, 0.95), method="nearest").tolist()
    return Saved(gpus, low, high, float((less > 0).mean()))


def saved_by_draft(
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
    for fleet in sorted(map(sure_fleet, best.values()), key=surely_spent):
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
