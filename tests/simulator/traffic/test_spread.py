"""Shares of requests within targets in closed form, against simulations and exact laws."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand, LatencyTargets
from simulator.traffic.limit import closed_limit, in_turn, largest, simulated_limit
from simulator.traffic.steady import steady
from tests.simulator.traffic.servers import repeated, server

DEMAND = Demand(500, 100)


@pytest.mark.parametrize("gamma", [0, 3])
@pytest.mark.parametrize("replicas", [1, 6])
def test_the_share_within_a_time_per_token_is_that_of_simulations(
    gamma: int, replicas: int
) -> None:
    kept, demand = server(prompt=0.01, chunk=2048), in_turn(DEMAND, replicas)
    state = steady(kept, demand, gamma, 8.0)
    for factor in (0.95, 1.0, 1.1):
        targets = LatencyTargets(token_seconds=factor * state.token_seconds.item())
        share, error = repeated(kept, demand, gamma, 8.0, lambda run: run.within(targets))  # noqa: B023
        assert state.share(targets).item() == pytest.approx(share, abs=0.07 + 4 * error)


def test_waiting_with_one_slot_is_exponential() -> None:
    """Outputs with exponential lengths make an M/M/1 queue: P(wait > t) = ρ exp(-(μ - λ) t)."""
    kept = server(slots=1, growing=0.0)
    demand = Demand(1, 400, output_spread=1.0)
    rate, mean = 0.15, 399 * 0.01
    state = steady(kept, demand, 0, rate)
    for seconds in (1.0, 5.0, 20.0):
        late = rate * mean * np.exp(-(1 / mean - rate) * seconds)
        share = state.share(LatencyTargets(first_seconds=seconds)).item()
        assert 1 - share == pytest.approx(late, rel=0.02)


def test_arrivals_in_turn_have_gaps_of_several_exponential_ones() -> None:
    """Their squared coefficient of variation is 1/N; of 40,000 it is off by 4 % once in 10^5."""
    for replicas in (1, 4):
        gaps = np.diff(in_turn(DEMAND, replicas).arrivals(5.0, 40_000, seed=2).seconds)
        assert gaps.mean() == pytest.approx(0.2, rel=0.025)
        assert gaps.var() / gaps.mean() ** 2 == pytest.approx(1 / replicas, rel=0.06)


def test_lengths_have_their_spread() -> None:
    demand = Demand(1000, 200, prompt_spread=0.5, output_spread=1.0)
    drawn = demand.arrivals(1.0, 100_000, seed=0).demand
    assert drawn.prompt_tokens == pytest.approx(1000, rel=0.01)
    assert drawn.prompt_spread == pytest.approx(0.5, rel=0.03)
    assert drawn.output_spread == pytest.approx(1.0, rel=0.06)


def test_limits_in_closed_form_are_near_those_of_simulations() -> None:
    kept = server(prompt=0.01, chunk=2048)
    targets = LatencyTargets(first_seconds=0.5, token_seconds=0.02)
    for gamma in (0, 3):
        for replicas in (1, 8):
            demand = in_turn(DEMAND, replicas)
            closed = closed_limit(kept, demand, gamma, targets, 0.95)
            simulated = simulated_limit(kept, demand, gamma, targets, 0.95, requests=4000)
            assert closed == pytest.approx(simulated, rel=0.08)


def test_without_a_target_for_the_first_token_capacity_is_the_limit() -> None:
    kept, targets = server(slots=4, chunk=2048), LatencyTargets(token_seconds=1.0)
    limit = simulated_limit(kept, DEMAND, 0, targets, 0.95, requests=500)
    assert limit == pytest.approx(steady(kept, DEMAND, 0, 1.0).max_rate.item(), rel=1e-6)


@pytest.mark.parametrize("limit", [0.03, 1.0, 7.7, 49.0])
@pytest.mark.parametrize("guess", [0.5, 7.7, 60.0])
def test_the_largest_accepted_rate_is_found_from_any_guess(limit: float, guess: float) -> None:
    rate = largest(lambda tried: tried <= limit, guess, 50.0)
    assert limit / 1.0041 <= rate <= limit


def test_the_largest_rate_is_none_or_the_highest() -> None:
    assert largest(lambda _: False, 1.0, 50.0) == 0.0
    assert largest(lambda _: True, 1.0, 50.0) == 50.0


@pytest.mark.parametrize("tokens", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("gamma", [1, 3])
def test_blocks_of_short_outputs_are_summed_exactly(tokens: int, gamma: int) -> None:
    """m(n) = 1 + Σ_j P(τ = j) m(n - j), against simulated blocks."""
    kept = Blocks(np.array([[1.0, 0.7, 0.5, 0.2]]))
    generator, count = np.random.default_rng(0), 200_000
    drawn = kept.drawn(np.full(count, tokens), np.zeros(count, dtype=np.int64), [gamma], generator)
    deviation = drawn[gamma].std() / count**0.5
    assert kept.needed(tokens)[0, gamma] == pytest.approx(
        drawn[gamma].mean(), abs=5 * deviation + 1e-9
    )


def test_replicas_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="replicas must be at least 1, got 0"):
        replace(DEMAND, replicas=0)
