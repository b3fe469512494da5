"""What limits a block's draft limits it in every result of a replay; bad limits are named."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator.acceptance.recorded import Recorded
from simulator.acceptance.replay import (
    block_lengths,
    block_starts,
    draft_lengths,
    expected_calls,
    expected_seconds,
    oracle_seconds,
    replay_improvement_factor,
)
from simulator.cost.curves import CostModel

COST = CostModel({1: 1.0, 2: 1.5, 5: 1.7, 9: 2.5}, 0.1, 0.05, 0.02)
ACCEPTANCE = np.array([0.3, 0.9, 0.6, 0.8, 0.5])
DRAFTED = np.array([2, 0, 1, 4, 4])
OPTIONS: list[dict[str, Any]] = [{"limit": 8}, {"drafted": DRAFTED}]
IDS = ["limit", "drafted"]


@pytest.mark.parametrize("options", OPTIONS, ids=IDS)
def test_starts_add_up_to_the_calls_under_every_option(options: dict[str, Any]) -> None:
    starts = block_starts(ACCEPTANCE, 3, **options)
    assert starts.sum() == pytest.approx(expected_calls(ACCEPTANCE, 3, **options), rel=1e-14)


def test_a_limit_beyond_the_text_lengthens_drafts_and_moves_no_start() -> None:
    assert draft_lengths(2, 2, limit=4).tolist() == [2, 2]
    assert block_starts([0.5, 0.5], 2, limit=4).tolist() == [1, 0.5]


@pytest.mark.parametrize("options", [{}, *OPTIONS], ids=["plain", *IDS])
def test_lengths_of_blocks_have_the_price_of_the_text(options: dict[str, Any]) -> None:
    for gamma in (0, 1, 3, 7):
        counts = block_lengths(ACCEPTANCE, gamma, **options)
        assert counts.shape == (gamma + 1,)
        lengths = draft_lengths(5, gamma, **options)
        starts = block_starts(ACCEPTANCE, gamma, **options)
        expected = [starts[lengths == drafted].sum() for drafted in range(gamma + 1)]
        assert counts == pytest.approx(expected, rel=1e-14)
        seconds = expected_seconds(ACCEPTANCE, gamma, cost=COST, **options)
        prices = COST.block_seconds(np.arange(gamma + 1))
        assert counts @ prices == pytest.approx(seconds, rel=1e-14)


def test_texts_in_which_no_draft_stands_are_recorded_whatever_the_rounding() -> None:
    # One block a token: shares that add up to 1, or to the next float for a few of these.
    generator = np.random.default_rng(0)
    for length in range(2, 120):
        blocks = {}
        for gamma in range(1, 9):
            counts = np.zeros(gamma + 1)
            for positions in (length, length + 3, length + 7):
                drafted = generator.integers(0, gamma + 1, positions)
                counts += block_lengths(np.zeros(positions), gamma, drafted=drafted)
            blocks[gamma] = tuple((counts / (3 * length + 10)).tolist())
        assert Recorded(0.0, blocks).tokens_per_call([1, 8]) == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("options", OPTIONS, ids=IDS)
def test_the_factor_is_the_baseline_over_the_time_under_every_option(
    options: dict[str, Any],
) -> None:
    seconds = expected_seconds(ACCEPTANCE, 3, cost=COST, **options)
    factor = replay_improvement_factor(ACCEPTANCE, 3, cost=COST, **options)
    assert factor == pytest.approx(5 * 1.02 / seconds, rel=1e-14)
    plain = expected_seconds(ACCEPTANCE, 3, cost=COST)
    assert abs(seconds - plain) > 0.01


def test_the_oracle_drafts_no_more_than_the_drafter_proposes() -> None:
    mean = 0.0
    for draws in itertools.product((False, True), repeat=5):
        odds = np.prod(np.where(draws, ACCEPTANCE, 1 - ACCEPTANCE))
        t = total = 0
        while t < 5:
            room = min(3, 5 - t - 1, DRAFTED[t])
            run = 0
            while run < room and draws[t + run]:
                run += 1
            total += COST.block_seconds(run)
            t += run + 1
        mean += odds * total
    replayed = oracle_seconds(ACCEPTANCE, 3, cost=COST, drafted=DRAFTED)
    assert replayed == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: draft_lengths(3, -1), "gamma must be at least 0, got -1"),
        (lambda: draft_lengths(3, 1, limit=0), "limit must be at least 1, got 0"),
        (lambda: draft_lengths(3, 1, limit=3.5), "limit must be an integer, got 3.5"),  # type: ignore[arg-type]
        (
            lambda: block_lengths(ACCEPTANCE, 1, limit=4),
            "limit must be at least the text's 5 positions, got 4",
        ),
        (
            lambda: block_starts(ACCEPTANCE, 1, limit=4),
            "limit must be at least the text's 5 positions, got 4",
        ),
        (lambda: oracle_seconds(ACCEPTANCE, -1, cost=COST), "gamma must be at least 0, got -1"),
        (
            lambda: oracle_seconds(ACCEPTANCE, 1, cost=COST, limit=4),
            "limit must be at least the text's 5 positions, got 4",
        ),
    ],
)
def test_limits_out_of_range_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        call()
