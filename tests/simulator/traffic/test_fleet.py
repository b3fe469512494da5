"""Fleets: laws over random inputs, and counts against simulations of all replicas."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from simulator.traffic.counted import ENOUGH, closed_fleet, simulated_fleet
from simulator.traffic.demand import Demand, LatencyTargets, Requests, SimulationResult
from simulator.traffic.events import serve
from simulator.traffic.fleet import Fleet, Goal, Replica
from simulator.traffic.limit import in_turn
from simulator.traffic.promise import binding, limits_at, promise
from simulator.traffic.saved import saved_gpus
from simulator.traffic.server import Doubt
from simulator.traffic.sizing import size
from simulator.traffic.steady import steady
from tests.simulator.traffic.servers import pair, server

TARGETS = LatencyTargets(first_seconds=0.5, token_seconds=0.015)


def replica(*, slots: int = 64, gpus: int = 1, growing: float = 5e-4) -> Replica:
    kept = server(slots=slots, growing=growing, prompt=0.02, chunk=2048)
    return Replica("h100", gpus, pair(kept, Demand(500, 100)), tp=gpus)


def goal(rate: float = 40.0, targets: LatencyTargets = TARGETS, requests: int = 3000) -> Goal:
    return Goal(rate, targets, requests=requests)


def random_cases() -> Iterator[tuple[Replica, Goal]]:
    generator = np.random.default_rng(0)
    for _ in range(12):
        kept = server(
            slots=int(generator.integers(4, 100)),
            growing=float(generator.uniform(1e-4, 1e-3)),
            prompt=float(generator.uniform(0, 0.05)),
            chunk=2048,
        )
        demand = Demand(float(generator.integers(50, 4000)), float(generator.integers(5, 400)))
        targets = LatencyTargets(
            float(generator.uniform(0.3, 3)), float(generator.uniform(0.013, 0.05))
        )
        rate = float(generator.uniform(1, 60))
        yield Replica("h100", 1, pair(kept, demand)), Goal(rate, targets, requests=1500)


def test_more_replicas_meet_the_targets_for_no_smaller_share() -> None:
    for one, question in random_cases():
        for gamma in (0, 3):
            kept = one.pair.server(gamma)
            shares = [
                steady(kept, replace(one.pair.demand, replicas=n), gamma, question.rate / n)
                .share(question.targets)
                .item()
                for n in range(1, 30)
            ]
            assert np.diff(shares).min() > -1e-3, (one.pair.demand, shares)


def test_looser_targets_need_no_more_gpus() -> None:
    for one, question in random_cases():
        first, token = question.targets.first_seconds, question.targets.token_seconds
        assert first is not None
        assert token is not None
        loose = replace(question, targets=LatencyTargets(1.5 * first, 1.2 * token))
        strict, other = (
            size([one], asked_for, check=False).best for asked_for in (question, loose)
        )
        if strict is not None:
            assert other is not None
            assert other.gpus <= strict.gpus


def test_gamma_zero_is_the_server_started_without_a_draft() -> None:
    one = replica()
    bare = replace(one.pair, gammas=(), drafting=one.pair.baseline)
    alone = size([replace(one, pair=bare)], goal(), check=False).best
    sizing = size([one], goal(), check=False).best_without
    assert alone is not None
    assert sizing is not None
    assert (alone.gamma, alone.replicas, alone.limit) == (0, sizing.replicas, sizing.limit)


def test_counted_replicas_keep_the_share_and_one_less_does_not() -> None:
    for gamma in (0, 2):
        guess = closed_fleet(replica(), gamma, goal())
        assert guess is not None
        fleet = simulated_fleet(guess)
        assert fleet is not None
        assert abs(guess.replicas - fleet.replicas) <= 1
        assert promise(fleet, requests=20_000, seed=5).share >= 0.95
        fewer = fleet.of(fleet.replicas - 1)
        assert promise(fewer, requests=20_000, seed=5).share < 0.95
        assert fewer.limit < fleet.goal.rate <= fleet.limit


def test_replicas_in_turn_sustain_more_than_a_random_split() -> None:
    """A replica's arrivals vary less if it takes every eighth request."""
    one = replica()
    alone, eighth = Fleet(one, 2, 1, goal()), Fleet(one, 2, 8, goal())
    assert eighth.limit > 1.1 * 8 * alone.limit
    assert eighth.closed_limit == pytest.approx(eighth.limit, rel=0.08)


def test_a_price_can_decide_against_the_fewest_gpus() -> None:
    slow, fast = replica(growing=8e-4), replica(growing=2e-4)
    fewest = size([slow, fast], goal(), check=False).best
    assert fewest is not None
    assert fewest.replica is fast
    assert fewest.price is None
    priced = [replace(slow, price=1.0), replace(fast, price=10.0)]
    cheapest = size(priced, goal(), check=False).best
    assert cheapest is not None
    assert cheapest.replica is priced[0]
    assert cheapest.price == cheapest.gpus


def test_a_smaller_batch_limit_is_found_where_it_needs_fewer_gpus() -> None:
    """A batch of 64 exceeds the time per token; 16 keep it, and requests may wait for a slot."""
    wide = replica(growing=5e-4)
    targets = LatencyTargets(first_seconds=20.0, token_seconds=0.02)
    sizing = size([replace(wide, pair=replace(wide.pair, gammas=()))], goal(8.0, targets)).best
    assert sizing is not None
    assert sizing.replica.batch_limit < 64
    assert sizing.gpus < closed_fleet(wide, 0, goal(8.0, targets)).gpus


def test_doubt_is_carried_to_the_number_of_gpus() -> None:
    generator = np.random.default_rng(1)
    slower = np.exp(0.3 * generator.normal(size=(100, 1, 1))) * np.ones((100, 64, 5))
    doubt = Doubt(slower)
    one = replace(replica(), doubt=lambda: doubt)
    sizing = size([one], goal(), check=False)
    assert sizing.best is not None
    assert sizing.saved is not None
    assert sizing.saved.probability is not None
    drawn = np.sort(sizing.best.drawn_gpus)
    half = drawn[50]
    assert half < sizing.best.gpus == drawn[80] < drawn[-1]
    assert (drawn <= sizing.best.gpus).mean() == sizing.sufficient >= ENOUGH
    assert (drawn < sizing.best.gpus).mean() < ENOUGH
    exact = Doubt(np.ones((3, 64, 5)))
    known = size([replace(replica(), doubt=lambda: exact)], goal(), check=False).best
    assert known is not None
    assert known.drawn_gpus is not None
    assert known.drawn_gpus.tolist() == 3 * [known.gpus]
    assert abs(half - known.gpus) <= 1


def test_no_gpu_saved_is_no_gain() -> None:
    inf = np.inf
    plain = SimpleNamespace(gpus=4, drawn_gpus=np.array([4.0, 4.0, 4.0, inf, inf]))
    best = SimpleNamespace(gpus=3, drawn_gpus=np.array([4.0, 3.0, 5.0, 2.0, inf]))
    saved = saved_gpus(best, plain)
    assert (saved.gpus, saved.low, saved.high, saved.probability) == (1, -1, inf, 0.4)


def test_gpus_that_suffice_surely_come_before_fewer_that_may_not() -> None:
    """A third of the draws of one replica never keeps the targets, however many there are."""
    hopeless = np.ones((90, 64, 5))
    hopeless[:30] = 9.0
    doubtful = replace(replica(), gpu="a", doubt=lambda: Doubt(hopeless))
    slower = replace(replica(growing=8e-4), gpu="b", doubt=lambda: Doubt(np.ones((3, 64, 5))))
    alone, both = (size(one, goal(), check=False).best for one in ([doubtful], [doubtful, slower]))
    assert alone is not None
    assert both is not None
    assert alone.gpus < both.gpus
    assert both.replica.gpu == "b"
    assert alone.probability == pytest.approx(2 / 3)


def test_the_binding_limit_is_named() -> None:
    def limit(targets: LatencyTargets, kept: Replica) -> str:
        fleet = closed_fleet(kept, 0, goal(targets=targets))
        assert fleet is not None
        return binding(fleet)

    tight, loose = LatencyTargets(5.0, 0.013), LatencyTargets(5.0, 0.5)
    assert limit(tight, replica()) == "TPOT"
    assert limit(LatencyTargets(0.04, 0.5), replica()) == "TTFT"
    assert limit(loose, replica(slots=8)) == "capacity"
    one = replica()
    few = replace(one.pair.baseline, cache_tokens=5000.0)
    assert limit(loose, replace(one, pair=replace(one.pair, baseline=few))) == "memory"


def test_the_binding_limit_is_the_one_that_the_simulation_misses() -> None:
    one = replica()
    spread = replace(
        one, pair=replace(one.pair, demand=replace(one.pair.demand, prompt_spread=1.5))
    )
    fleet = Fleet(spread, 0, 3, goal(targets=LatencyTargets(0.06, 0.05)))
    demand = in_turn(spread.pair.demand, 3)
    arrived = demand.arrivals(1.02 * fleet.limit / 3, fleet.goal.requests, seed=fleet.goal.seed)
    served = serve(spread.pair.server(0), arrived, 0, seed=fleet.goal.seed)
    assert (served.first_seconds > 0.06).mean() > 0.04 > (served.token_seconds > 0.05).mean()
    assert binding(fleet) == "TTFT"


def test_the_interval_of_the_limit_contains_it_and_follows_the_doubt() -> None:
    generator = np.random.default_rng(2)
    slower = generator.lognormal(0, 0.2, (200, 1, 1)) * np.ones((200, 64, 5))
    doubtful, exact = Doubt(slower), Doubt(np.ones((3, 64, 5)))
    fleet = Fleet(replace(replica(), doubt=lambda: doubtful), 0, 3, goal())
    ends = limits_at(fleet, (0.95, 0.05))
    assert ends is not None
    assert ends[0] < 0.9 * fleet.limit < 1.1 * fleet.limit < ends[1]
    known = limits_at(Fleet(replace(replica(), doubt=lambda: exact), 0, 3, goal()), (0.95, 0.05))
    # Rates are looked at in steps of 5 %.
    assert known == pytest.approx((fleet.limit, fleet.limit), rel=0.051)
    assert limits_at(Fleet(replica(), 0, 3, goal()), (0.5,)) is None


def test_no_fleet_keeps_impossible_targets() -> None:
    sizing = size([replica()], goal(targets=LatencyTargets(0.5, 1e-4)))
    assert (sizing.best, sizing.best_without, sizing.candidates) == (None, None, ())
    assert closed_fleet(replica(gpus=8), 0, replace(goal(500.0), max_gpus=8)) is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rate": 0.0}, "rate must lie above 0 and be finite, got 0"),
        ({"share": 1.0}, "share must lie between 0 and 1, got 1"),
        ({"targets": LatencyTargets()}, "targets must have a TTFT or a TPOT, got none"),
        ({"max_gpus": 0}, "max_gpus must be at least 1, got 0"),
    ],
)
def test_a_goal_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(goal(), **changed)


def test_a_share_that_comes_in_bursts_has_a_larger_error() -> None:
    """Two thousand requests of which a burst misses; independent ones would err by 0.5 points."""
    met = np.ones(2000, dtype=bool)
    met[900:1000] = False
    first = np.where(met, 0.1, 9.0)
    requests = Requests(np.zeros(2000), np.full(2000, 9), np.full(2000, 9))
    served = SimulationResult(requests, first, first + 0.1, 0)
    targets = LatencyTargets(first_seconds=1.0)
    kept = met[200:]
    assert served.within(targets) == kept.mean()
    independent = (kept.mean() * (1 - kept.mean()) / len(kept)) ** 0.5
    assert served.within_error(targets) > 5 * independent
    spread = np.random.default_rng(0).permutation(first)
    calm = SimulationResult(requests, spread, spread + 0.1, 0).within_error(targets)
    assert calm == pytest.approx(independent, rel=0.5)
