"""No report prints a prediction that no server can have."""

import dataclasses

import numpy as np
import pytest
from click.testing import CliRunner

from simulator.acceptance.acceptance import Iid
from simulator.cost.cost import Ratio
from simulator.cost.curves import CostModel
from specplan.main import main
from specplan.reports.table import blocks_take_a_step, possible

POINT = {"gamma": 2, "expected_tokens": 2.5, "improvement_factor": 2.5}


def test_possible_numbers_pass_as_they_are() -> None:
    data = {"alpha": 1.0, "tpot_ms": None, "rows": [POINT], "break_even_rate": np.inf, "x": "y"}
    assert possible(data, bounded=True) == data
    assert possible({"rows": [{"stable": False, "tpot_ms": np.nan}]})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 1.0001}, r"alpha must lie in \[0, 1\], got 1.0001"),
        ({"gain_probability": -0.1}, r"gain_probability must lie in \[0, 1\], got -0.1"),
        ({"tpot_ms": -17.03}, r"tpot_ms must lie in \[.*, inf\], got -17.03"),
        ({"ttft_ms_p99": 0.0}, r"ttft_ms_p99 must lie in"),
        ({"tokens_per_second": np.nan}, "tokens_per_second must lie in .*, got nan"),
        ({"batch": -0.01}, "batch must lie in"),
        ({"other": np.nan}, "other must lie in .*, got nan"),
        (POINT | {"expected_tokens": 3.01}, r"expected_tokens must lie in \[1, 3\] at gamma 2"),
        (POINT | {"expected_tokens": 0.99}, "expected_tokens must lie in"),
        (POINT | {"improvement_factor": 2.51}, r"improvement_factor must lie in \[0, 2.5\] at"),
        (POINT | {"improvement_factor": -1e-6}, "improvement_factor must lie in"),
    ],
)
def test_an_impossible_number_is_refused_by_name(wrong: dict, message: str) -> None:
    for data in (wrong, {"rows": [wrong]}, {"plan": {"curve": (wrong,)}}):
        with pytest.raises(ArithmeticError, match=message):
            possible(data, bounded=True)


def test_the_ends_of_an_interval_are_bounded_on_request() -> None:
    wide = POINT | {"improvement_factor_high": 2.51}
    assert possible(wide, bounded=True) == wide
    with pytest.raises(ArithmeticError, match=r"improvement_factor_high must lie in \[0, 2.5\]"):
        possible(wide, bounded=True, ends=True)


def test_a_speed_up_has_no_bound_where_the_cost_assures_none() -> None:
    faster = POINT | {"improvement_factor": 2.51}
    assert possible(faster) == faster
    assert blocks_take_a_step(Ratio(0.05), 8)
    times = CostModel({1: 0.02, 4: 0.03}, draft_seconds=0.001)
    assert blocks_take_a_step(times, 8)
    assert not blocks_take_a_step(dataclasses.replace(times, target_seconds={1: 0.02, 4: 0.015}), 8)


@pytest.mark.parametrize("form", [[], ["--json"], ["--export", "vllm"]])
def test_a_command_that_would_print_one_ends_with_the_values(form: list, monkeypatch) -> None:
    # A fault in one formula, by which five drafted tokens give more than six; what users state is
    # checked up to four.
    right = Iid.tokens_per_call
    monkeypatch.setattr(
        Iid,
        "tokens_per_call",
        lambda self, gamma: np.where(np.asarray(gamma) > 4, 1.5, 1) * right(self, gamma),
    )
    found = CliRunner().invoke(main, ["plan", "--alpha", "0.9", "--c", "0.1", *form])
    assert found.exit_code == 1
    assert found.stdout == ""
    assert "a prediction is impossible" in found.stderr
    assert len(found.stderr.splitlines()) == 1
