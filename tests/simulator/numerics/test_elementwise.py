"""Evaluation in pieces gives what evaluation as a whole gives."""

import numpy as np
import pytest

from simulator.numerics.elementwise import elementwise


@pytest.mark.parametrize(
    ("left", "right"),
    [((), ()), ((5,), ()), ((3, 1), (4,)), ((40_000,), (40_000,)), ((200, 1), (300,)), ((0,), ())],
)
def test_pieces_make_up_the_broadcast_whole(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(left), rng.integers(0, 9, right)
    result = elementwise(lambda x, y: x - 2 * y, {"a": a, "b": b})
    np.testing.assert_array_equal(result, a - 2 * b)
    assert result.shape == np.broadcast_shapes(left, right)


def test_pieces_are_small_and_float64() -> None:
    sizes = []

    def formula(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        sizes.append(len(x))
        assert x.dtype == y.dtype == np.float64
        return x + y

    elementwise(formula, {"a": np.zeros(100_000, dtype=np.int32), "b": np.zeros((2, 1))})
    assert sum(sizes) == 200_000
    assert max(sizes) <= 1 << 14


def test_transposed_input_keeps_its_places() -> None:
    a = np.arange(12.0).reshape(3, 4).T
    np.testing.assert_array_equal(elementwise(lambda x: x * x, {"a": a}), a * a)


def test_the_result_can_be_of_integers() -> None:
    result = elementwise(np.floor, {"a": np.array([1.5, 2.5])}, dtype=np.int64)
    assert result.dtype == np.int64
    assert result.tolist() == [1, 2]


def test_names_are_shown_where_shapes_clash() -> None:
    with pytest.raises(ValueError, match="alpha and c must have shapes that broadcast"):
        elementwise(np.add, {"alpha": np.zeros(2), "c": np.zeros(3)})
