"""Speculative beam search: budget, steps per call, and how often the draft's beams suffice."""

import itertools

import numpy as np
import pytest

from simulator.schemes.beams import (
    beam_improvement_factor,
    budget,
    covers,
    simulate_coverage,
    steps_per_call,
)


def test_a_call_reads_the_beams_and_what_was_drafted() -> None:
    assert budget(4, 8, 3) == 28
    assert budget(4, [4, 8], 0).tolist() == [4, 4]


def test_steps_are_the_mean_over_where_the_first_miss_falls() -> None:
    for r, gamma in itertools.product((0.0, 0.3, 0.9, 1.0), (0, 1, 4)):
        longhand = sum((k + 1) * r**k * (1 - r) for k in range(gamma)) + (gamma + 1) * r**gamma
        assert steps_per_call(r, gamma) == pytest.approx(longhand)


def test_a_draft_that_costs_nothing_gains_its_steps_where_passes_are_free() -> None:
    free = beam_improvement_factor(
        0.8, width=2, draft_width=4, gamma=3,
        target_seconds=lambda n: 1.0, draft_seconds=lambda n: 0.0,
    )  # fmt: skip
    assert free == pytest.approx(steps_per_call(0.8, 3))
    priced = beam_improvement_factor(
        0.8, width=2, draft_width=4, gamma=3,
        target_seconds=lambda n: 1 + 0.1 * n, draft_seconds=lambda n: 0.01 * n,
    )  # fmt: skip
    assert priced == pytest.approx(steps_per_call(0.8, 3) * 1.2 / (2.4 + 0.02 + 2 * 0.04))


def test_covers_is_set_inclusion() -> None:
    source = np.random.default_rng(0)
    for _ in range(200):
        p, q = source.normal(size=(2, 7))
        for width, wide in ((1, 1), (2, 3), (3, 6), (2, 7)):
            best = set(np.argsort(-p)[:width].tolist())
            expected = best <= set(np.argsort(-q)[:wide].tolist())
            assert covers(p, q, width=width, draft_width=wide) == expected


def test_a_wider_draft_covers_more_and_a_perfect_one_all() -> None:
    settings = {"width": 3, "continuations": 40, "spread": 2.0, "draws": 2000}
    shares = [
        simulate_coverage(
            draft_width=wide, noise=1.0, generator=np.random.default_rng(1), **settings
        )
        for wide in (3, 6, 12, 40)
    ]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] == 1
    assert simulate_coverage(
        draft_width=3, noise=0.0, generator=np.random.default_rng(2), **settings
    ) == 1


def test_an_unrelated_draft_covers_as_often_as_chance_does() -> None:
    """C(u, w) / C(n, w); odds of a false alarm 6e-7."""
    share = simulate_coverage(
        width=2, draft_width=4, continuations=8, spread=0.0, noise=1.0, draws=20_000,
        generator=np.random.default_rng(3),
    )  # fmt: skip
    chance = (4 * 3) / (8 * 7)
    assert abs(share - chance) < 5 * np.sqrt(chance * (1 - chance) / 20_000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: budget(4, 2, 3), "draft_width must be at least width, 4, got 2"),
        (lambda: budget(0, 2, 3), "width must be at least 1, got 0"),
        (lambda: budget(1, 2, -1), "gamma must be at least 0, got -1"),
        (lambda: steps_per_call(1.1, 2), r"coverage must lie in \[0, 1\], got 1.1"),
        (lambda: covers([1, 2], [1, 2], width=1, draft_width=3), "at most the 2 continuations"),
    ],
)
def test_bad_beams_are_refused(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
