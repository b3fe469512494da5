"""Steady states in closed form, against simulation and in their exact cases."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand, Requests, SimulationResult
from simulator.traffic.events import serve
from simulator.traffic.policy import scheduled
from simulator.traffic.population import max_rate
from simulator.traffic.server import Prompts, Server
from simulator.traffic.steady import steady
from tests.simulator.traffic.servers import STEP, pair, repeated, server

ERRORS = 5.0
LONG = Demand(1, 401)


def first(served: SimulationResult) -> float:
    return float(served.first_seconds.mean())


def token(served: SimulationResult) -> float:
    return float(served.token_seconds.mean())


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_one_slot_is_the_queue_of_pollaczek_and_khinchine(share: float) -> None:
    alone, demand = server(slots=1, growing=0.0, prompt=0.02), Demand(10, 101)
    service = 0.02 + 100 * STEP
    rate = share / service
    found = steady(alone, demand, 0, rate)
    waiting = rate * service**2 / (2 * (1 - share))
    assert found.first_seconds[0] == pytest.approx(waiting + 0.02, rel=1e-9)
    assert found.token_seconds[0] == pytest.approx(STEP, rel=1e-9)
    assert found.max_rate == pytest.approx(1 / service)


def test_the_simulation_of_one_slot_waits_as_pollaczek_and_khinchine_say() -> None:
    alone, demand = server(slots=1, growing=0.0, prompt=0.02), Demand(10, 101)
    rate = 0.6 / 1.02
    mean, error = repeated(alone, demand, 0, rate, first)
    assert abs(mean - (rate * 1.02**2 / 0.8 + 0.02)) < ERRORS * error


def test_steps_that_do_not_grow_make_infinitely_many_servers() -> None:
    free, demand, rate = server(slots=256, growing=0.0), Demand(1, 101), 20.0
    assert steady(free, demand, 0, rate).token_seconds[0] == pytest.approx(STEP)
    assert steady(free, demand, 0, rate).batch[0] == pytest.approx(rate * 100 * STEP)
    mean, error = repeated(free, demand, 0, rate, lambda served: served.batch)
    assert abs(mean - rate * 100 * STEP) < ERRORS * error
    assert repeated(free, demand, 0, rate, token)[0] == pytest.approx(STEP)


@pytest.mark.parametrize(
    ("gamma", "share", "prompt", "chunk"),
    [(0, 0.5, 0.0, None), (3, 0.8, 0.0, None), (3, 0.5, 0.02, None), (0, 0.8, 0.02, 64)],
)
def test_a_token_takes_the_simulated_time(
    gamma: int, share: float, prompt: float, chunk: int | None
) -> None:
    kept = server(prompt=prompt, chunk=chunk)
    rate = share * max_rate(kept, LONG, gamma)
    mean, error = repeated(kept, LONG, gamma, rate, token)
    assert abs(mean - steady(kept, LONG, gamma, rate).token_seconds[0]) < ERRORS * error


@pytest.mark.parametrize(("gamma", "share"), [(0, 0.5), (3, 0.8)])
def test_first_tokens_come_when_the_simulation_finds(gamma: int, share: float) -> None:
    kept = server(prompt=0.02)
    rate = share * max_rate(kept, LONG, gamma)
    mean, error = repeated(kept, LONG, gamma, rate, first)
    assert abs(mean - steady(kept, LONG, gamma, rate).first_seconds[0]) < ERRORS * error


@pytest.mark.parametrize(("gamma", "share"), [(0, 0.5), (3, 0.7)])
def test_chunks_are_waited_for_to_within_six_per_cent(gamma: int, share: float) -> None:
    kept = replace(server(), prompts=Prompts({1: 0.01, 1000: 0.05}, 512))
    demand = Demand(1000, 301)
    rate = share * max_rate(kept, demand, gamma)
    mean, _ = repeated(kept, demand, gamma, rate, first)
    assert steady(kept, demand, gamma, rate).first_seconds[0] == pytest.approx(mean, rel=0.06)


def test_little_holds() -> None:
    found = steady(server(prompt=0.02), LONG, 3, [0.5, 2.0, 5.0])
    assert found.batch == pytest.approx(found.rate * 400 * found.token_seconds)


def test_time_per_token_rises_with_the_rate_up_to_the_most_and_is_infinite_there() -> None:
    kept = server()
    most = max_rate(kept, LONG, 2)
    found = steady(kept, LONG, 2, most * np.array([0.01, 0.3, 0.6, 0.9, 0.999, 1.0, 2.0]))
    assert (np.diff(found.token_seconds[:5]) > 0).all()
    assert np.isinf(found.token_seconds[5:]).all()
    assert found.stable.tolist() == [True] * 5 + [False] * 2


def test_a_chunk_bounds_the_requests_a_second() -> None:
    demand = Demand(1000, 50)
    few = replace(server(), prompts=Prompts({1: 0.01, 1000: 0.02}, 64))
    assert max_rate(few, demand, 0) < 0.7 * max_rate(
        replace(few, prompts=Prompts(few.prompts.seconds, 1000)), demand, 0
    )


def test_memory_bounds_the_batch() -> None:
    held = replace(server(), cache_tokens=2500.0)
    assert held.max_batch(LONG) == int(2500 / LONG.context)
    with pytest.raises(ValueError, match="cache must hold a request of 402 tokens, got 300"):
        steady(replace(held, cache_tokens=300.0), LONG, 0, 1.0)


def test_a_schedule_changes_only_where_keeping_it_loses_more_than_one_per_cent() -> None:
    kept, demand = server(growing=2e-4), Demand(1, 60)
    table = scheduled(pair(kept, demand))[:, 0]
    needed = kept.blocks.needed(demand.output_tokens - 1)[0]
    speeds = 1 / (kept.seconds * needed)
    best = speeds.max(axis=1)
    places = np.arange(len(table))
    assert (speeds[places, table] >= 0.99 * best).all()
    changes = np.flatnonzero(np.diff(table)) + 1
    assert len(changes) > 0
    assert all(speeds[place, table[place - 1]] < 0.99 * best[place] for place in changes)


READING = {1: 0.005, 256: 0.0065, 2048: 0.03, 20_000: 0.32}


def chunked(chunk: int, *, cache: float | None = None, slots: int = 256) -> Server:
    """Returns a server with steps of 5 ms, 20 µs more for each token, and an 8B model's prompts."""
    gammas, batches = np.arange(5), np.arange(1, slots + 1)[:, None]
    seconds = 0.005 + 2e-5 * batches * (gammas + 1) + 5e-4 * gammas
    return Server(seconds, Blocks.of(Iid(0.7), 4), Prompts(READING, chunk), cache)


def saturated(kept: Server, demand: Demand, gamma: int, count: int) -> float:
    """Returns the requests a second that end while the line never empties."""
    lengths = (np.full(count, round(n)) for n in (demand.prompt_tokens, demand.output_tokens))
    requests = Requests(np.zeros(count), *lengths)
    ends = np.sort(serve(kept, requests, gamma, seed=0).last)
    return float((0.9 - 0.25) * count / (ends[9 * count // 10] - ends[count // 4]))


@pytest.mark.parametrize(
    ("prompt", "output", "chunk", "gamma"),
    [(8000, 200, 2048, 0), (2000, 60, 512, 3), (2000, 60, 256, 0), (20_000, 300, 2048, 3),
     (4000, 30, 512, 0), (1000, 500, 2048, 3)],
)  # fmt: skip
def test_chunked_prompts_take_the_simulated_time_within_five_per_cent(
    prompt: int, output: int, chunk: int, gamma: int
) -> None:
    """Means of 4,000 requests have standard errors of at most 1 %, at 85 % of capacity of 2 %."""
    kept, demand = chunked(chunk), Demand(prompt, output)
    most = float(max_rate(kept, demand, gamma))
    assert most == pytest.approx(saturated(kept, demand, gamma, 4000), rel=0.05)
    for share, error in ((0.3, 0.05), (0.6, 0.05), (0.85, 0.1)):
        requests = demand.arrivals(share * most, 4000, seed=1)
        found = serve(kept, requests, gamma, seed=1)
        closed = steady(kept, demand, gamma, share * most)
        assert closed.token_seconds[0] == pytest.approx(found.token_seconds.mean(), rel=error)


@pytest.mark.parametrize(("prompt", "output"), [(200, 200), (1000, 2000), (4000, 200)])
def test_a_cache_bounds_the_capacity_as_the_simulation_finds(prompt: int, output: int) -> None:
    """Prompts that preemptions read again count: without them the first is 40 % too high."""
    kept, demand = chunked(512, cache=40.0 * (prompt + output)), Demand(prompt, output)
    found = saturated(kept, demand, 3, 1200)
    assert max_rate(kept, demand, 3) == pytest.approx(found, rel=0.06)


def test_random_servers_have_finite_times_that_rise_with_the_rate() -> None:
    generator = np.random.default_rng(0)
    for _ in range(200):
        prompt, output = np.exp(generator.uniform(0, [10, 8])).round()
        chunk = int(np.exp(generator.uniform(3, 10)))
        slots = int(np.exp(generator.uniform(0, 6)))
        cache = generator.choice([np.inf, 1.0, 3.0, 50.0]) * (prompt + output)
        held = None if np.isinf(cache) else float(cache)
        demand, kept = Demand(prompt, output), chunked(chunk, cache=held, slots=slots)
        gamma = int(generator.integers(5))
        most = float(max_rate(kept, demand, gamma))
        assert 0 < most <= kept.prompts.max_rate(prompt, kept.seconds.min()) * (1 + 1e-9)
        found = steady(kept, demand, gamma, most * np.linspace(0.01, 0.99, 50))
        assert (found.first_seconds > 0).all()
        assert (np.diff(found.first_seconds) >= -1e-9).all()
        assert np.isfinite(found.first_seconds).all()
        if output == 1:
            assert np.isnan(found.token_seconds).all()
            assert (found.batch == 0).all()
            continue
        least = kept.seconds[0, gamma] / kept.blocks.tokens[0, gamma]
        assert (found.token_seconds > 0.5 * least).all()
        assert (np.diff(found.token_seconds) >= -1e-9).all()
        assert (found.batch > 0).all()


def by_steps(kept: Server, requests: Requests) -> tuple[list[float], list[float]]:
    """Returns when first and last tokens come, one step of the target after the other."""
    count, chunk, clock = len(requests.seconds), kept.prompts.chunk, 0.0
    waiting, reading, left = deque(range(count)), deque[list[int]](), dict[int, int]()
    first, last = [0.0] * count, [0.0] * count
    while waiting or reading or left:
        if not reading and not left:
            clock = max(clock, requests.seconds[waiting[0]])
        while waiting and requests.seconds[waiting[0]] <= clock:
            if len(left) + len(reading) >= kept.slots:
                break
            reading.append([waiting[0], int(requests.prompt_tokens[waiting.popleft()])])
        free, done = chunk or 0, list[int]()
        while free > 0 and reading:
            part = min(free, reading[0][1])
            free, reading[0][1] = free - part, reading[0][1] - part
            if reading[0][1] == 0:
                done.append(reading.popleft()[0])
        tokens = (chunk or 0) - free
        added = float(kept.prompts.added(tokens)) if tokens else 0.0
        clock += float(
            kept.seconds[len(left) - 1, 0] + added if left else kept.prompts.apart(tokens)
        )
        left = {request: steps - 1 for request, steps in left.items()}
        for request in [each for each, steps in left.items() if steps == 0]:
            last[request] = clock
            del left[request]
        for request in done:
            first[request] = clock
            left[request] = int(requests.output_tokens[request]) - 1
    return first, last


@pytest.mark.parametrize("seed", range(8))
def test_the_event_simulator_is_the_one_that_goes_step_by_step(seed: int) -> None:
    generator = np.random.default_rng(seed)
    count, slots = 200, int(generator.integers(1, 20))
    kept = replace(chunked(int(generator.integers(10, 400)), slots=slots))
    seconds = np.cumsum(generator.exponential(0.05, count))
    prompts, outputs = (generator.integers(low, 300, count) for low in (1, 2))
    requests = Requests(seconds, prompts, outputs)
    found = serve(kept, requests, 0, seed=0)
    first, last = by_steps(kept, requests)
    assert found.first == pytest.approx(first, rel=1e-9)
    assert found.last == pytest.approx(last, rel=1e-9)


def test_a_single_output_token_has_no_time_between_tokens() -> None:
    for chunk in (None, 512):
        found = steady(server(prompt=0.02, chunk=chunk), Demand(100, 1), 2, [1.0, 5.0])
        assert np.isnan(found.token_seconds).all()
        assert found.batch.tolist() == [0, 0]
        assert found.request_seconds(Demand(100, 1)) == pytest.approx(found.first_seconds)


def test_a_delay_of_prompts_comes_before_each_first_token() -> None:
    plain, demand = server(slots=8, growing=0.0, prompt=0.02), Demand(200, 50)
    late = replace(plain, prompts=replace(plain.prompts, delay=0.25))
    rate = 0.3 * float(max_rate(plain, demand, 0))
    firsts = [steady(each, demand, 0, rate).first_seconds.item() for each in (plain, late)]
    assert firsts[1] - firsts[0] == pytest.approx(0.25)
    arrived = demand.arrivals(rate, 500, seed=1)
    soon, later = (serve(each, arrived, 0, seed=1) for each in (plain, late))
    np.testing.assert_allclose(later.first_seconds - soon.first_seconds, 0.25)
    np.testing.assert_allclose(later.token_seconds, soon.token_seconds)


@pytest.mark.parametrize("chunk", [None, 512])
@pytest.mark.parametrize("share", [0.5, 0.75])
def test_a_cached_share_makes_long_prompts_as_cheap_as_short_ones(
    share: float, chunk: int | None
) -> None:
    """A prompt of P tokens is read as one of (1 - share) P tokens, so both loads are the same."""
    line = Prompts({1: 1e-3, 1001: 11e-3, 8001: 81e-3}, chunk)
    whole = server(slots=16, growing=1e-4)
    short, long = (replace(whole, prompts=prompts) for prompts in (line, line.cached(share)))
    few, many = Demand(2000 * (1 - share), 101), Demand(2000, 101)
    assert float(max_rate(long, many, 0)) == pytest.approx(float(max_rate(short, few, 0)), rel=2e-3)
    rate = 0.7 * float(max_rate(short, few, 0))
    one, other = steady(short, few, 0, rate), steady(long, many, 0, rate)
    assert other.token_seconds[0] == pytest.approx(one.token_seconds[0], rel=5e-3)
    assert other.first_seconds[0] == pytest.approx(one.first_seconds[0], rel=5e-3)


def test_nothing_cached_changes_no_time() -> None:
    prompts = Prompts({1: 1e-3, 500: 9e-3}, 64)
    assert prompts.cached(0.0) == prompts


def test_a_server_with_its_draft_breaks_even_with_its_own_zero() -> None:
    demand, kept = Demand(1, 50), server(growing=2e-3)
    seconds = kept.seconds.copy()
    seconds[:, 0] *= 1.1
    costly = pair(kept, demand)
    assert costly.against_zero is None
    costly = replace(costly, drafting=replace(kept, seconds=seconds))
    against_zero = costly.against_zero
    assert against_zero is not None
    edge, plain = float(against_zero.break_even()), float(costly.break_even())
    assert plain < edge
    for rate, drafts in ((0.98 * edge, True), (1.02 * edge, False)):
        zero = steady(costly.drafting, demand, 0, rate).request_seconds(demand)[0]
        some = [
            steady(costly.drafting, demand, gamma, rate).request_seconds(demand)[0]
            for gamma in costly.gammas
        ]
        assert (min(some) < zero) == drafts
