"""Bad input is refused with the name, the rule and the first offending value."""

import re

import numpy as np
import pytest
from numpy.typing import ArrayLike

from simulator.numerics.arguments import (
    floats,
    integer,
    integers,
    law,
    non_negative,
    probability,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.2, "1.2"),
        (-0.5, "-0.5"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        ([0.1, 1.0, 1.5, 7.0], "1.5"),
        ([[0.2, np.nan], [2.0, 0.1]], "nan"),
        (np.float32(3), "3.0"),
    ],
)
def test_probability_outside_0_to_1_is_refused(value: ArrayLike, shown: str) -> None:
    with pytest.raises(ValueError, match=rf"^alpha must lie in \[0, 1\], got {shown}$"):
        probability("alpha", value)


@pytest.mark.parametrize("value", [-1e-9, float("nan"), float("inf")])
def test_costs_are_finite_and_not_negative(value: float) -> None:
    with pytest.raises(ValueError, match=rf"^c must be finite and at least 0, got {value}$"):
        non_negative("c", value)


@pytest.mark.parametrize("value", ["many", None, [1.0, [2.0]], object()])
def test_values_that_are_no_numbers_are_refused_by_name(value: object) -> None:
    with pytest.raises(ValueError, match=r"^alpha must "):
        probability("alpha", value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "gamma must be at least 1, got 0"),
        ([4, -3], "gamma must be at least 1, got -3"),
        (2.5, "gamma must be an integer, got 2.5"),
        (float("nan"), "gamma must be an integer, got nan"),
        (float("inf"), "gamma must be an integer, got inf"),
        ([1.0, 2.0, 0.0], "gamma must be at least 1, got 0.0"),
        (1e300, "gamma must be at most 9007199254740992, got 1e+300"),
        (np.uint64(2**64 - 1), "gamma must be at most 9007199254740992, got 18446744073709551615"),
    ],
)
def test_gamma_that_is_no_integer_or_too_small_is_refused(value: ArrayLike, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        integers("gamma", value, at_least=1)


def test_whole_floats_are_integers() -> None:
    assert integers("gamma", [1.0, 4.0]).dtype == np.int64
    assert integers("gamma", np.int8(3)) == 3


def test_a_single_integer_is_not_an_array() -> None:
    assert integer("max_gamma", 7, at_least=1) == 7
    with pytest.raises(ValueError, match=r"^max_gamma must be a single integer, got shape \(2,\)$"):
        integer("max_gamma", [1, 2])


def test_shapes_that_do_not_broadcast_give_one_clear_line() -> None:
    message = r"alpha and gamma must have shapes that broadcast together, got \(2,\) and \(3, 3\)"
    with pytest.raises(ValueError, match=message):
        floats({"alpha": np.zeros(2), "gamma": np.zeros((3, 3))})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0.5, 0.7], "p must sum to 1 over its last axis, got 1.2: 0.2 too much"),
        ([[0.5, 0.5], [0.5, 0.2]], "p must sum to 1 over its last axis, got 0.7: 0.3 too little"),
        ([1.5, -0.5], "p must lie in [0, 1], got 1.5"),
        (1.0, "p must hold one probability for each token, got a single number"),
    ],
)
def test_laws_that_do_not_sum_to_1_are_refused_with_by_how_much(
    value: ArrayLike, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        law("p", value)


def test_a_softmax_in_float32_over_a_large_vocabulary_is_a_law() -> None:
    logits = np.random.default_rng(0).normal(size=150_000).astype(np.float32)
    weights = np.exp(logits)
    assert law("p", weights / weights.sum(dtype=np.float32)).shape == (150_000,)


def test_empty_arrays_pass() -> None:
    assert probability("alpha", []).shape == (0,)
    assert integers("gamma", np.zeros((0, 3), dtype=np.int64)).shape == (0, 3)
