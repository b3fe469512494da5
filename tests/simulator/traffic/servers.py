"""Servers that tests of traffic serve with, and means of repeated simulations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.acceptance import Iid
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand, SimulationResult
from simulator.traffic.events import serve
from simulator.traffic.pair import Pair
from simulator.traffic.server import Prompts, Server

STEP, LONGEST = 0.01, 4


def server(
    *, slots: int = 64, growing: float = 5e-4, prompt: float = 0.0, chunk: int | None = None
) -> Server:
    """Returns a server whose steps take 10 ms and `growing` for each token, α = 0.7.

    A prompt of any length takes `prompt` seconds.
    """
    gammas, batches = np.arange(LONGEST + 1), np.arange(1, slots + 1)[:, None]
    seconds = STEP + growing * batches * (gammas + 1) + 1e-3 * gammas
    prompts = Prompts({1: prompt, 10_000: prompt}, chunk)
    return Server(seconds, Blocks.of(Iid(0.7), LONGEST), prompts)


def pair(kept: Server, demand: Demand) -> Pair:
    """Returns a server with and without speculation, γ = 1 to 4."""
    return Pair(kept, kept.without(kept.prompts), demand, tuple(range(1, LONGEST + 1)))


def repeated(
    kept: Server,
    demand: Demand,
    gamma: int,
    rate: float,
    value: Callable[[SimulationResult], float],
) -> tuple[float, float]:
    """Returns the mean of a value over 12 simulations of 1200 requests, and its standard error."""
    found = []
    for seed in range(12):
        requests = demand.arrivals(rate, 1200, seed=seed)
        found.append(value(serve(kept, requests, gamma, seed=seed)))
    values: NDArray[np.float64] = np.array(found)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
