"""Traces as they are read, and refused."""

import io

import numpy as np
import pytest

from simulator.traffic.demand import Demand, Requests, SimulationResult
from simulator.traffic.trace import read_trace


def trace(text: str) -> Requests:
    return read_trace(io.StringIO(text), name="trace.csv")


def test_a_trace_tells_its_rate_and_its_means() -> None:
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n10,100,20\n11,300,20\n14,200,20\n"
    found = trace(text)
    assert found.rate == 0.5
    assert (found.demand.prompt_tokens, found.demand.output_tokens) == (200, 20)
    assert found.demand.output_spread == 0
    assert found.at(2.0).seconds.tolist() == [0.0, 0.25, 1.0]


def test_times_may_be_dates() -> None:
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n"
        "2023-11-16 18:17:04.2299600,3180,8\n"
    )
    assert trace(text).rate == pytest.approx(4.0)


def test_arrivals_come_at_their_rate() -> None:
    """The mean gap of 40,000 is off by 2.5 % once in a million times."""
    found = Demand(10, 20).arrivals(4.0, 40_000, seed=0)
    assert found.rate == pytest.approx(4.0, rel=0.025)
    assert np.array_equal(found.seconds, Demand(10, 20).arrivals(4.0, 40_000, seed=0).seconds)


def test_times_between_tokens_are_counted_after_the_first_token() -> None:
    requests = Requests(np.zeros(4), np.full(4, 9), np.array([5, 3, 1, 2]))
    first = np.array([1.0, 1.0, 1.0, 2.0])
    served = SimulationResult(requests, first, first + np.array([8.0, 4.0, 0.0, 3.0]), 0)
    assert served.token_seconds == pytest.approx([2.0, 2.0, np.nan, 3.0], nan_ok=True)
