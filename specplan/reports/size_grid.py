"""The answer of `specplan size` at other rates, computed ahead for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simulator.traffic.fleet import Fleet, Replica
from simulator.traffic.limit import in_turn
from simulator.traffic.sizing import Sizing, cheapest
from simulator.traffic.steady import steady
from specplan.reports.sizing_words import layout

# Rates of the slider as multiples of the stated one.
_RATES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
# Rates at which the answer's times are predicted, up to this multiple of the largest it keeps.
_TIMES, _MOST = 24, 1.15


def size_grid(replicas: Sequence[Replica], sizing: Sizing) -> dict[str, Any] | None:
    """Returns the GPUs and K of the answer by rate, as JSON; None without an answer or replicas.

    Each rate is searched as the stated one is: among the same deployments, by simulation.

    rates: requests per second of all replicas; the stated one is among them.
    gpus, gamma, gpus_without: GPUs and K at each rate; None: `max_gpus` do not keep the targets.
    best, best_without: the deployments in words.
    """
    if sizing.best is None or not replicas:
        return None
    goal = sizing.goal
    rates = [goal.rate if part == 1 else float(f"{part * goal.rate:.3g}") for part in _RATES]
    pairs = [
        (sizing.best, sizing.best_without) if rate == goal.rate
        else cheapest(replicas, replace(goal, rate=rate))
        for rate in rates
    ]  # fmt: skip
    return {
        "rates": rates,
        "gpus": [best and best.gpus for best, _ in pairs],
        "gamma": [best and best.gamma for best, _ in pairs],
        "gpus_without": [plain and plain.gpus for _, plain in pairs],
        "best": [best and _words(best) for best, _ in pairs],
        "best_without": [plain and _words(plain) for _, plain in pairs],
    }


def times_by_rate(fleet: Fleet) -> list[Mapping[str, Any]]:
    """Returns times of requests at a fleet by rate, with speculation and without, as JSON.

    They are means of the closed form, None beyond the capacity. The fleet without speculation has
    as many replicas.
    """
    goal, pair = fleet.goal, fleet.replica.pair
    most = _MOST * max(fleet.limit, goal.rate)
    rates = np.linspace(0, most, _TIMES + 1)[1:]
    demand, rows = in_turn(pair.demand, fleet.replicas), list[Mapping[str, Any]]()
    for gamma in sorted({fleet.gamma, 0}, reverse=True):
        state = steady(pair.server(gamma), demand, gamma, rates / fleet.replicas)
        every = (rates, state.token_seconds, state.first_seconds, state.share(goal.targets))
        for rate, token, first, share in np.transpose(every).tolist():
            times = {"tpot_ms": token, "ttft_ms": first}
            row = {name: 1e3 * mean if np.isfinite(mean) else None for name, mean in times.items()}
            known = {"rate": rate, "speculation": gamma > 0, "gamma": gamma, "share_within": share}
            rows.append(known | row)
    return rows


def _words(fleet: Fleet) -> str:
    replica = fleet.replica
    ways = layout(replica.tp, replica.ep, replica.dp)
    return f"{fleet.gpus} ({fleet.replicas} × {replica.gpu}, {ways})"
