"""The ends of the policies' ranges are valid, and policies behave as documented there."""

from collections.abc import Callable

import pytest
import torch

from reference.laws import Dense
from reference.policies import Adaptive, Confidence, Fixed, Heuristic, Policy
from studies.bild.thresholds import Fallback, inverse_perplexity, peak_probability


def eightfold(alpha: float) -> int:
    return round(8 * alpha)


@pytest.mark.parametrize(
    ("make", "first"),
    [
        (lambda: Fixed(0), 0),
        (lambda: Confidence(0.0, most=1), 1),
        (lambda: Confidence(1.0, most=1), 1),
        (lambda: Heuristic(1), 1),
        (lambda: Heuristic(3, most=3), 3),
        (lambda: Adaptive(eightfold, prior=0.0), 0),
        (lambda: Adaptive(eightfold, prior=1.0), 8),
        (lambda: Adaptive(eightfold, prior=0.5, prior_tokens=1e-3), 4),
        (lambda: Adaptive(eightfold, prior=0.5, window=1), 4),
    ],
)
def test_the_ends_of_a_range_belong_to_it(make: Callable[[], Policy], first: int) -> None:
    assert make().gamma([]) == first


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adaptive(int, prior=-0.1), r"prior must lie in \[0, 1\], got -0.1"),
        (lambda: Adaptive(int, prior_tokens=float("inf")), "prior_tokens must be .* got inf"),
        (lambda: Adaptive(int, prior_tokens=float("nan")), "prior_tokens must be .* got nan"),
    ],
)
def test_beyond_the_ends_is_refused(make: Callable[[], Policy], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        make()


def test_a_law_just_certain_enough_is_trusted_and_measures_take_several_positions() -> None:
    halves = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
    assert Fallback(0.5).trusts(Dense(halves[:1]))
    assert not Fallback(0.5000001).trusts(Dense(halves[:1]))
    assert peak_probability(halves).tolist() == [0.5, 0.5]
    assert inverse_perplexity(halves).tolist() == pytest.approx([0.5, 2**-1.5])
