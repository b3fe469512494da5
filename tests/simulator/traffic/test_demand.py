"""Traces as they are read, and refused."""

import io

import numpy as np
import pytest

from simulator.traffic.demand import Demand, Requests, read_trace


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


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "trace must have at least one request, got none"),
        ("2,5,5\n1,5,5\n", "trace must be sorted by time, got 1 after 2"),
        ("-1,5,5\n", "time of a request must be finite and at least 0, got -1"),
        ("nan,5,5\n", "time of a request must be finite and at least 0, got nan"),
        ("0,0,5\n", "prompt_tokens of a request must be at least 1, got 0"),
        ("0,5,-3\n", "output_tokens of a request must be at least 1, got -3"),
        ("0,five,5\n", "prompt_tokens in line 2 of .* must be a number, got 'five'"),
        ("0,5,nan\n", "output_tokens in line 2 of .* must be a number, got 'nan'"),
        ("0,5\n", "output_tokens in line 2 of .* must be a number, got 'nothing'"),
    ],
)
def test_what_is_no_trace_is_refused(rows: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trace("time,prompt_tokens,output_tokens\n" + rows)


def test_a_trace_without_its_columns_or_of_one_moment_is_refused() -> None:
    with pytest.raises(ValueError, match="got no output_tokens"):
        trace("time,prompt_tokens\n0,1\n")
    with pytest.raises(ValueError, match="got no time"):
        trace("")
    once = trace("time,prompt_tokens,output_tokens\n3,5,5\n")
    with pytest.raises(ValueError, match="trace must last longer than 0 seconds"):
        assert once.rate


def test_arrivals_come_at_their_rate() -> None:
    """The mean gap of 40,000 is off by 2.5 % once in a million times."""
    found = Demand(10, 20).arrivals(4.0, 40_000, seed=0)
    assert found.rate == pytest.approx(4.0, rel=0.025)
    assert np.array_equal(found.seconds, Demand(10, 20).arrivals(4.0, 40_000, seed=0).seconds)


def test_a_demand_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="output_tokens must be at least 1, got 0"):
        Demand(10, 0)
