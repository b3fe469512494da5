"""The ends of what policies take belong to it, and the policies do as they say there."""

from collections.abc import Callable

import pytest

from reference.policies.policy import Adaptive, Confidence, Fixed, Heuristic, Policy


@pytest.mark.parametrize(
    ("policy", "first"),
    [
        (Fixed(0), 0),
        (Confidence(0.0, most=1), 1),
        (Confidence(1.0, most=1), 1),
        (Heuristic(1), 1),
        (Heuristic(3, most=3), 3),
        (Adaptive(lambda alpha: round(8 * alpha), prior=0.0), 0),
        (Adaptive(lambda alpha: round(8 * alpha), prior=1.0), 8),
        (Adaptive(lambda alpha: round(8 * alpha), prior=0.5, prior_tokens=1e-3), 4),
        (Adaptive(lambda alpha: round(8 * alpha), prior=0.5, window=1), 4),
    ],
    ids=lambda value: repr(value) if isinstance(value, int) else value.name,
)
def test_the_ends_of_a_range_belong_to_it(policy: Policy, first: int) -> None:
    assert policy.gamma([]) == first


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
