"""Gamma policies as a user names them."""

import pytest

from estimator.loading.pairs import parse_policies
from reference.policies import Confidence, Fixed, Heuristic


def test_fixed_stands_for_every_gamma_and_adaptive_for_none_yet() -> None:
    assert parse_policies(
        ["fixed", "confidence:0.4", "heuristic", "adaptive"], gammas=[2, 4, 2], max_gamma=16
    ) == {
        "gamma 2": Fixed(2),
        "gamma 4": Fixed(4),
        "confidence:0.4": Confidence(threshold=0.4, most=16),
        "heuristic": Heuristic(start=5, most=16),
        "adaptive": None,
    }


def test_the_heuristic_starts_no_higher_than_it_may_go() -> None:
    assert parse_policies(["heuristic"], gammas=[], max_gamma=3)["heuristic"] == Heuristic(
        start=3, most=3
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "clever",
            "policy must be fixed, heuristic, confidence:P, product:P or adaptive, got 'clever'",
        ),
        ("heuristic:3", "policy must be"),
        ("confidence", r"needs a threshold P in \[0, 1\], got 'confidence'"),
        ("confidence:x", r"needs a threshold P in \[0, 1\], got 'confidence:x'"),
        ("confidence:1.5", r"needs a threshold P in \[0, 1\]"),
        ("confidence:nan", r"needs a threshold P in \[0, 1\]"),
        ("product:-0.1", r"policy product:P needs a threshold P in \[0, 1\], got 'product:-0.1'"),
    ],
)
def test_unusable_policies_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_policies([name], gammas=[4], max_gamma=16)
