"""The simulation by hand, its laws, and what a full cache does."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid
from simulator.acceptance.tokens import expected_tokens
from simulator.cost.setting import Wall
from simulator.traffic.blocks import KINDS, Blocks
from simulator.traffic.demand import Demand, LatencyTargets, Requests, SimulationResult
from simulator.traffic.events import serve
from simulator.traffic.policy import by_rank, by_request, scheduled
from simulator.traffic.population import max_rate
from simulator.traffic.server import Prompts
from tests.simulator.traffic.servers import STEP, pair, server


def requests(*rows: tuple[float, int, int]) -> Requests:
    times, prompts, outputs = (np.array(column) for column in zip(*rows, strict=True))
    return Requests(times.astype(float), prompts, outputs)


def test_two_requests_by_hand_where_prompts_are_read_apart() -> None:
    kept = server(growing=0.001, prompt=0.1)
    arrived = requests((0.0, 5, 11), (0.115, 5, 3))
    served = serve(kept, arrived, 0, seed=0)
    # Two steps of 11 ms from 100 ms on; the second prompt until 222 ms; two steps of 12 ms
    # together; six of 11 ms by itself.
    assert served.first == pytest.approx([0.1, 0.222])
    assert served.last == pytest.approx([0.246 + 6 * 0.011, 0.246])


def test_two_requests_by_hand_where_prompts_ride_along() -> None:
    kept = replace(server(growing=0.001), prompts=Prompts({1: 0.01, 101: 0.06}, 50))
    arrived = requests((0.0, 50, 11), (0.0455, 100, 2))
    served = serve(kept, arrived, 0, seed=0)
    # 34.5 ms for the first prompt, a step of 11 ms, two of 11 + 24.5 ms with the chunks, 12 ms.
    assert served.first == pytest.approx([0.0345, 0.0455 + 2 * 0.0355])
    assert served.last[1] == pytest.approx(0.0455 + 2 * 0.0355 + 0.012)


def test_every_request_gets_its_tokens_after_it_came_and_in_order() -> None:
    kept = server(prompt=0.01)
    arrived = Demand(1, 60).arrivals(8.0, 2000, seed=1)
    served = serve(kept, arrived, scheduled(pair(kept, Demand(1, 60))), seed=1)
    assert (served.first > arrived.seconds).all()
    assert (served.last > served.first).all()
    assert (np.diff(served.first) >= 0).all()
    assert served.preemptions == 0


def test_outputs_need_the_blocks_that_renewal_theory_expects() -> None:
    """Within 5 standard errors, missed once in a million times."""
    blocks, generator = Blocks.of(Iid(0.7), 4), np.random.default_rng(0)
    tokens, kinds = np.full(20_000, 200), np.zeros(20_000, dtype=np.int64)
    for gamma, drawn in blocks.drawn(tokens, kinds, range(5), generator).items():
        error = drawn.std() / np.sqrt(len(drawn))
        assert abs(drawn.mean() - blocks.needed(200)[0, gamma]) <= 5 * error + 1e-9


def test_blocks_of_an_acceptance_yield_its_tokens() -> None:
    blocks = Blocks.of(Iid(0.7), 6)
    assert blocks.tokens[0] == pytest.approx(expected_tokens(0.7, np.arange(7)))


def test_requests_that_differ_have_the_alphas_of_a_beta_law() -> None:
    blocks = Blocks.of(Iid(0.7), 3, spread=0.1)
    alphas = blocks.accepted[:, 1]
    assert blocks.kinds == KINDS
    assert alphas.mean() == pytest.approx(0.7, abs=0.005)
    assert alphas.std() == pytest.approx(0.1, rel=0.1)
    assert blocks.accepted[:, 3] == pytest.approx(alphas**3)


def test_a_full_cache_preempts_the_latest_request_and_loses_no_token() -> None:
    tight = replace(server(), cache_tokens=1000.0)
    arrived = Demand(100, 300).arrivals(1.5, 300, seed=2)
    served = serve(tight, arrived, 2, seed=2)
    roomy = serve(server(), arrived, 2, seed=2)
    assert served.preemptions > 0
    assert np.isfinite(served.last).all()
    assert served.first_seconds.mean() > roomy.first_seconds.mean()


def test_a_preempted_request_keeps_the_time_of_its_first_token() -> None:
    tight = replace(server(prompt=0.1), cache_tokens=700.0)
    served = serve(tight, requests(*[(0.0, 100, 300)] * 3), 0, seed=0)
    assert served.preemptions > 0
    assert served.first == pytest.approx([0.1, 0.2, 0.3])


def test_a_preempted_request_starts_before_those_that_came_later() -> None:
    tight = replace(server(prompt=0.1), cache_tokens=700.0)
    served = serve(tight, requests(*[(0.0, 100, 300)] * 2, *[(0.25, 100, 300)] * 3), 0, seed=0)
    assert served.preemptions > 0
    assert (np.diff(served.last) >= 0).all()


def test_a_request_that_no_cache_holds_is_refused() -> None:
    tight = replace(server(), cache_tokens=100.0)
    with pytest.raises(ValueError, match="cache must hold a request of 400 tokens, got 100"):
        serve(tight, requests((0.0, 100, 300)), 0, seed=0)


def test_a_schedule_is_no_slower_than_the_best_fixed_gamma() -> None:
    kept, demand = server(growing=1e-3), Demand(1, 200)
    schedule = scheduled(pair(kept, demand))
    assert (np.diff(schedule[:, 0]) <= 0).all()
    arrived = demand.arrivals(0.6 * max_rate(kept, demand, 0), 3000, seed=3)

    def mean(policy: int | np.ndarray) -> float:
        return float(serve(kept, arrived, policy, seed=3).token_seconds.mean())

    best = min(mean(gamma) for gamma in range(5))
    # Both means have a standard error of about 1 %, on the same arrivals.
    assert mean(schedule) < 1.02 * best


def test_gamma_by_request_gains_where_requests_differ() -> None:
    wide = replace(server(), blocks=Blocks.of(Iid(0.6), 4, spread=0.35))
    demand = Demand(1, 200)
    arrived = demand.arrivals(1.0, 2000, seed=4)
    each_own = serve(wide, arrived, by_request(pair(wide, demand)), seed=4)
    schedule = serve(wide, arrived, scheduled(pair(wide, demand)), seed=4)
    assert each_own.token_seconds.mean() < schedule.token_seconds.mean()


def test_gamma_by_request_stays_within_captured_graphs() -> None:
    wide, demand = server(growing=1e-5), Demand(1, 200)
    free = by_request(pair(wide, demand))
    wall = Wall("tokens", 2 * wide.slots, "--flag", "")
    kept = by_request(replace(pair(wide, demand), wall=wall))
    slots = np.arange(1, wide.slots + 1)[:, None]
    assert wall.crossed(slots, free).any()
    assert not wall.crossed(slots, kept).any()


def test_steps_by_rank_that_are_those_of_a_fixed_gamma_serve_as_it_does() -> None:
    both = pair(server(), Demand(100, 40, 0.5))
    kept, requests = both.drafting, both.demand.arrivals(3.0, 300, seed=1)
    steps = {batch: (float(kept.seconds[batch - 1, 3]), 2.533) for batch in (1, 64)}  # 1 + … + 0.7³
    same, policy = by_rank(both, steps)
    ranked = serve(same, requests, policy, seed=2)
    fixed = serve(kept, requests, 3, seed=2)
    assert ranked.last == pytest.approx(fixed.last, rel=1e-9)
    faster = {batch: (seconds / 2, tokens) for batch, (seconds, tokens) in steps.items()}
    quick, policy = by_rank(both, faster)
    sooner = serve(quick, requests, policy, seed=2)
    assert sooner.token_seconds.mean() < 0.7 * fixed.token_seconds.mean()


def test_latency_targets_are_met_or_not() -> None:
    arrived = requests((0.0, 1, 11), (0.0, 1, 11))
    served = SimulationResult(arrived, np.array([0.1, 0.3]), np.array([0.2, 0.5]), 0)
    assert served.within(LatencyTargets(first_seconds=0.2)) == 0.5
    assert served.within(LatencyTargets(token_seconds=0.015)) == 0.5
    assert served.within(LatencyTargets(0.05, 0.05)) == 0.0
    assert served.within(LatencyTargets()) == 1.0


def test_a_single_output_token_comes_with_the_prompt() -> None:
    kept = server(prompt=0.05)
    served = serve(kept, requests((1.0, 5, 1)), 2, seed=0)
    assert served.first == served.last == pytest.approx(1.05)
    assert STEP < 0.05
