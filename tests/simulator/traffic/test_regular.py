"""Arrivals of replicas that get requests in turn: how many come together, and times of requests."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.traffic.demand import Demand
from simulator.traffic.events import serve
from simulator.traffic.population import max_rate
from simulator.traffic.regular import none_arrives, same_step, step_before
from simulator.traffic.server import Prompts
from simulator.traffic.steady import steady
from tests.simulator.traffic.servers import server


@pytest.mark.parametrize("arriving", [0.05, 0.6, 2.0])
def test_a_poisson_process_is_the_unit(arriving: float) -> None:
    for of_poisson in (same_step, step_before, none_arrives):
        assert of_poisson(np.array(arriving), 1) == pytest.approx(1.0)


@pytest.mark.parametrize("replicas", [2, 5])
@pytest.mark.parametrize("arriving", [0.3, 1.0, 3.0])
def test_arrivals_near_a_request_are_those_of_drawn_gaps(replicas: int, arriving: float) -> None:
    """Deviates by more than four standard errors of some 1e-3 in one of 1e4 runs."""
    gaps = np.random.default_rng(1).gamma(replicas, 1 / replicas, 1_000_000)
    counts = np.bincount((np.cumsum(gaps) / arriving).astype(int))
    same = (counts * (counts - 1)).sum() / counts.sum() / arriving
    before = (counts[1:] * counts[:-1]).sum() / counts.sum() / arriving
    assert same_step(np.array(arriving), replicas) == pytest.approx(same, abs=6e-3)
    assert step_before(np.array(arriving), replicas) == pytest.approx(before, abs=6e-3)
    none = np.exp(-arriving) * none_arrives(np.array(arriving), replicas)
    assert none == pytest.approx((counts == 0).mean(), abs=3e-3)


@pytest.mark.parametrize("replicas", [3, 10])
@pytest.mark.parametrize("load", [0.3, 0.5, 0.7])
def test_times_of_replicas_in_turn_follow_simulations(replicas: int, load: float) -> None:
    """The simulated mean's standard error is 0.3 %."""
    kept = replace(server(slots=64), prompts=Prompts({1: 0.012, 2000: 0.04, 8000: 0.16}, 2048))
    demand = Demand(1000, 100, replicas=replicas)
    rate = load * float(max_rate(kept, demand, 2))
    runs = [serve(kept, demand.arrivals(rate, 5000, seed=seed), 2, seed=seed) for seed in range(3)]
    state = steady(kept, demand, 2, rate)
    first = float(np.mean([run.first_seconds.mean() for run in runs]))
    token = float(np.mean([run.token_seconds.mean() for run in runs]))
    assert float(state.first_seconds[0]) == pytest.approx(first, rel=0.03)
    assert float(state.token_seconds[0]) == pytest.approx(token, rel=0.04)
    alone = steady(kept, replace(demand, replicas=1), 2, rate)
    assert state.first_seconds[0] < alone.first_seconds[0]
