"""Traces by hour, and the replicas that each hour needs."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.traffic.day import Day, day
from simulator.traffic.demand import Demand, LatencyTargets, Requests
from simulator.traffic.fleet import Goal, Replica
from simulator.traffic.trace import HOUR, Hour, hours_of
from tests.simulator.traffic.servers import pair, server


def poisson(rate: float, *, start: float = 0.0, seconds: float = HOUR, seed: int = 0) -> Requests:
    """Returns Poisson arrivals of 100 prompt and 50 output tokens during some seconds."""
    generator = np.random.default_rng(seed)
    times = start + np.sort(generator.uniform(0, seconds, round(rate * seconds)))
    return Requests(times, np.full(len(times), 100), np.full(len(times), 50))


def joined(*parts: Requests) -> Requests:
    return Requests(
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.prompt_tokens for part in parts]),
        np.concatenate([part.output_tokens for part in parts]),
    )


def test_a_trace_is_divided_into_equal_parts_of_about_an_hour() -> None:
    trace = joined(poisson(1.0), poisson(3.0, start=HOUR), poisson(0.5, start=2 * HOUR))
    hours = hours_of(trace)
    assert [round(hour.seconds) for hour in hours] == pytest.approx([HOUR] * 3, rel=2e-3)
    assert [hour.rate for hour in hours] == pytest.approx([1.0, 3.0, 0.5], rel=1e-2)
    assert sum(len(h.requests.seconds) for h in hours if h.requests) == len(trace.seconds)


def test_an_hour_without_requests_has_the_rate_zero() -> None:
    hours = hours_of(joined(poisson(1.0), poisson(1.0, start=2 * HOUR)))
    assert [hour.requests is None for hour in hours] == [False, True, False]
    assert hours[1].rate == 0


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([5.0, 5.0], "trace must last longer than 0 seconds"),
        ([0.0, 40 * 86_400.0], "trace must last at most 31 days, got 960 hours"),
    ],
)
def test_traces_that_have_no_hours_are_refused(times: list[float], message: str) -> None:
    lengths = np.ones(2, dtype=np.int64)
    with pytest.raises(ValueError, match=message):
        hours_of(Requests(np.array(times), lengths, lengths))


def test_hours_are_named_by_the_clock_of_the_trace() -> None:
    assert Hour(5400.0, HOUR, None).name == "1:30"
    assert Hour(1_764_000_000.0, HOUR, None).name == "24 16:00"


def test_replicas_get_every_nth_recorded_request_with_its_gaps() -> None:
    lengths = np.arange(1, 9)
    hour = Hour(10.0, 80.0, Requests(10.0 + 10 * np.arange(8.0), lengths, lengths))
    first = hour.arrivals(0.05, 4, 2)
    assert first.prompt_tokens.tolist() == [1, 3, 5, 7]
    assert first.seconds.tolist() == [0.0, 20.0, 40.0, 60.0]
    both = hour.arrivals(0.1, 8, 2)  # twice the rate: half the gaps
    assert both.prompt_tokens.tolist() == [1, 3, 5, 7, 2, 4, 6, 8]
    assert np.diff(both.seconds).tolist() == [10.0, 10.0, 10.0, 5.0, 10.0, 10.0, 10.0]


def test_parts_of_a_long_hour_keep_its_rate() -> None:
    hour = Hour(0.0, HOUR, poisson(5.0))
    some = hour.arrivals(5.0, 1000, 1)
    assert 1000 <= len(some.seconds) <= 3000
    assert some.rate == pytest.approx(5.0, rel=0.05)


def of_day(trace: Requests) -> Day:
    served = server(slots=8)
    goal = Goal(1.0, LatencyTargets(first_seconds=0.2), requests=2000)

    def replica(hour: Hour) -> Replica:
        return Replica("h100", 2, pair(served, hour.demand), price=3.0)

    counted = day(
        hours_of(trace), replica, 2, lambda hour: replace(goal, rate=hour.rate), scale=1.0
    )
    assert counted is not None
    return counted


def test_a_fixed_number_of_replicas_wastes_gpu_hours_in_quiet_hours() -> None:
    quiet = joined(poisson(10.0), poisson(60.0, start=HOUR), poisson(10.0, start=3 * HOUR))
    counted = of_day(quiet)
    least, most = counted.replicas[0], counted.replicas[1]
    assert counted.replicas == (least, most, 1, least)
    assert (counted.fixed, counted.busiest) == (most, 1)
    assert most > least
    hours = sum(hour.seconds for hour in counted.hours) / HOUR
    assert counted.fixed_gpu_hours == pytest.approx(2 * most * hours)
    assert counted.gpu_hours == pytest.approx(2 * (2 * least + most + 1) * hours / 4)
    assert counted.wasted == pytest.approx(1 - counted.gpu_hours / counted.fixed_gpu_hours)


def test_requests_that_come_together_need_more_replicas_than_even_ones() -> None:
    even = poisson(20.0)
    bursts = replace(even, seconds=60 * np.floor(even.seconds / 60))
    assert of_day(bursts).fixed > of_day(even).fixed


def test_random_arrivals_of_a_trace_need_as_many_as_the_poisson_process() -> None:
    trace = poisson(60.0)
    counted, demand = of_day(trace), Demand(100, 50)
    served = Replica("h100", 2, pair(server(slots=8), demand))
    goal = Goal(counted.hours[0].rate, LatencyTargets(first_seconds=0.2), requests=2000)
    random = day(counted.hours, lambda _: served, 2, lambda _: goal, scale=1.0)
    assert random is not None
    assert abs(random.fixed - counted.fixed) <= 1
