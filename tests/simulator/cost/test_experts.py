"""Experts that a pass has to read, against routing drawn at random."""

from typing import Any

import numpy as np
import pytest

from simulator.cost.roofline.forward import distinct_experts


@pytest.mark.parametrize(
    ("experts", "active", "tokens"), [(8, 2, 1), (8, 2, 5), (128, 8, 5), (128, 8, 64), (256, 8, 9)]
)
def test_expected_experts_are_those_of_routing_at_random(
    experts: int, active: int, tokens: int
) -> None:
    rng = np.random.default_rng(0)
    passes = 4000
    scores = rng.random((passes, tokens, experts))
    chosen = np.argpartition(scores, active - 1, axis=-1)[..., :active]
    hit = np.zeros((passes, experts), dtype=bool)
    np.put_along_axis(hit, chosen.reshape(passes, -1), True, axis=-1)
    counts = hit.sum(axis=-1)
    error = counts.std() / np.sqrt(passes)
    # 4.4 standard errors: a false alarm in 1e5 runs for each case, of which one (m = 1) is exact.
    expected = float(distinct_experts(tokens, experts=experts, active=active))
    assert abs(counts.mean() - expected) <= 4.4 * error + 1e-9


def test_one_token_reads_the_experts_it_is_sent_to() -> None:
    assert float(distinct_experts(1, experts=128, active=8)) == pytest.approx(8, rel=1e-12)


def test_many_tokens_read_all_of_them() -> None:
    assert float(distinct_experts(10_000, experts=128, active=8)) == pytest.approx(128, rel=1e-12)


def test_no_token_reads_none() -> None:
    assert float(distinct_experts(0, experts=8, active=2, reuse=0.5)) == 0


def test_full_reuse_reads_what_one_token_does() -> None:
    read = distinct_experts([1, 5, 100], experts=64, active=6, reuse=1.0)
    assert read == pytest.approx(6, rel=1e-12)


def test_reuse_lies_between() -> None:
    some = float(distinct_experts(5, experts=128, active=8, reuse=0.4))
    assert 8 < some < float(distinct_experts(5, experts=128, active=8))


def test_all_experts_active_are_all_read() -> None:
    assert float(distinct_experts(3, experts=2, active=2)) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": -1}, "tokens must be at least 0, got -1"),
        ({"experts": 0}, "experts must be at least 1, got 0"),
        ({"active": 0}, "active must be at least 1, got 0"),
        ({"active": 9}, "active must be at most the 8 experts, got 9"),
        ({"reuse": 1.5}, r"reuse must lie in \[0, 1\], got 1.5"),
    ],
)
def test_numbers_out_of_range_are_refused(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"tokens": 3, "experts": 8, "active": 2} | change
    with pytest.raises(ValueError, match=message):
        distinct_experts(arguments.pop("tokens"), **arguments)
