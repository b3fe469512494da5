"""Replay against the literal recursion, against enumeration, and in its exact cases."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.acceptance.replay import (
    block_starts,
    draft_lengths,
    expected_calls,
    expected_drafted,
    expected_seconds,
    oracle_seconds,
    replay_improvement_factor,
)
from simulator.choice.oracle import oracle_improvement_factor
from simulator.cost.curves import CostModel
from simulator.cost.ratio import Ratio
from simulator.monte_carlo.finite import finite_calls

COST = CostModel({1: 1.0, 2: 1.5, 5: 1.7, 9: 2.5}, 0.1, 0.05, 0.02)


def backward_recursion(
    acceptance: NDArray[np.float64],
    gamma: int,
    price: Callable[[int], float],
    limit: int | None = None,
    drafted: NDArray[np.int64] | None = None,
) -> float:
    """The recursion W(t), letter by letter."""
    positions = len(acceptance)
    end = positions if limit is None else limit
    later = [0.0] * (end + 2)
    for t in reversed(range(positions)):
        g = min(gamma, end - t - 1)
        if drafted is not None:
            g = min(g, int(drafted[t]))
        total, reached = price(g), 1.0
        for k in range(g):
            if t + k >= positions:
                break
            a = acceptance[t, k] if acceptance.ndim == 2 else acceptance[t + k]
            total += reached * (1 - a) * later[t + k + 1]
            reached *= a
        else:
            total += reached * later[t + g + 1]
        later[t] = total
    return later[0]


def enumeration(
    acceptance: NDArray[np.float64], gamma: int, price: Callable[[int], float], limit: int
) -> float:
    """The mean over all outcomes of one draw per position, decoding each outcome block by block.

    In one decoding every position is drafted at most once before it is emitted, so one draw per
    position is all that is needed.
    """
    positions = len(acceptance)
    mean = 0.0
    for draws in itertools.product((False, True), repeat=positions):
        odds = np.prod(np.where(draws, acceptance, 1 - acceptance))
        t, total = 0, 0.0
        while t < positions:
            g = min(gamma, limit - t - 1)
            total += price(g)
            run = 0
            while run < g and t + run < positions and draws[t + run]:
                run += 1
            t += run + 1
        mean += odds * total
    return float(mean)


@pytest.mark.parametrize("positions", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("gamma", [0, 1, 2, 5, 8, 40])
@pytest.mark.parametrize("slack", [0, 1, 6])
def test_replay_is_the_backward_recursion(positions: int, gamma: int, slack: int) -> None:
    rng = np.random.default_rng([positions, gamma, slack])
    limit = positions + slack
    drafted = rng.integers(0, 10, positions)
    for acceptance in (rng.random(positions), rng.random((positions, 40))):
        for proposed in (None, drafted):
            def literal(
                price: Callable[[int], float],
                acceptance: NDArray[np.float64] = acceptance,
                proposed: NDArray[np.int64] | None = proposed,
            ) -> float:
                return backward_recursion(acceptance, gamma, price, limit, proposed)

            options = {"limit": limit, "drafted": proposed}
            calls = expected_calls(acceptance, gamma, **options)
            assert calls == pytest.approx(literal(lambda g: 1.0), rel=1e-12)
            assert expected_drafted(acceptance, gamma, **options) == pytest.approx(
                literal(float), rel=1e-12, abs=1e-14
            )
            assert expected_seconds(acceptance, gamma, cost=COST, **options) == pytest.approx(
                literal(lambda g: float(COST.block_seconds(g))), rel=1e-12
            )


@pytest.mark.parametrize("positions", [1, 2, 5, 9])
@pytest.mark.parametrize("gamma", [1, 2, 4, 12])
@pytest.mark.parametrize("slack", [0, 3])
def test_replay_is_the_mean_over_all_outcomes(positions: int, gamma: int, slack: int) -> None:
    acceptance = np.random.default_rng([positions, gamma]).random(positions)
    limit = positions + slack
    for price, replayed in (
        (lambda g: 1.0, expected_calls(acceptance, gamma, limit=limit)),
        (float, expected_drafted(acceptance, gamma, limit=limit)),
    ):
        assert replayed == pytest.approx(enumeration(acceptance, gamma, price, limit), rel=1e-12)


def test_certain_acceptances_give_exact_counts() -> None:
    rng = np.random.default_rng(5)
    acceptance = (rng.random(500) < 0.7).astype(float)
    for gamma in range(1, 9):
        t = calls = drafted = 0
        while t < 500:
            g = min(gamma, 500 - t - 1)
            run = 0
            while run < g and acceptance[t + run] == 1:
                run += 1
            t += run + 1
            calls += 1
            drafted += g
        assert expected_calls(acceptance, gamma) == calls
        assert expected_drafted(acceptance, gamma) == drafted
        starts = block_starts(acceptance, gamma)
        assert set(starts.tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("positions", [1, 2, 5, 9])
@pytest.mark.parametrize("gamma", [0, 1, 2, 4, 12])
@pytest.mark.parametrize("slack", [0, 3])
def test_the_oracle_pays_for_accepted_tokens_alone(
    positions: int, gamma: int, slack: int
) -> None:
    acceptance = np.random.default_rng([positions, gamma]).random(positions)
    limit = positions + slack
    mean = 0.0
    for draws in itertools.product((False, True), repeat=positions):
        odds = np.prod(np.where(draws, acceptance, 1 - acceptance))
        t = total = 0
        while t < positions:
            # Nothing is emitted beyond the text, so the oracle leaves its last token to the target.
            room = min(gamma, limit - t - 1, positions - t - 1)
            run = 0
            while run < room and draws[t + run]:
                run += 1
            total += COST.block_seconds(run)
            t += run + 1
        mean += odds * total
    replayed = oracle_seconds(acceptance, gamma, cost=COST, limit=limit)
    assert replayed == pytest.approx(mean, rel=1e-12)


def test_the_oracle_on_a_long_text_is_that_of_section_3_5() -> None:
    seconds = oracle_seconds(np.full(20_000, 0.7), 200, cost=Ratio(0.05))
    assert 20_000 / seconds == pytest.approx(oracle_improvement_factor(0.7, 0.05), rel=1e-3)


def test_no_gamma_beats_the_oracle_on_a_recorded_text() -> None:
    acceptance = np.random.default_rng(9).random(60)
    gamma = np.arange(1, 12)
    cost = Ratio(0.1)
    fixed = expected_seconds(acceptance, gamma, cost=cost)
    assert (oracle_seconds(acceptance, gamma, cost=cost) < fixed).all()


def test_gamma_zero_calls_once_a_token() -> None:
    acceptance = np.full(7, 0.9)
    assert expected_calls(acceptance, 0) == 7
    assert expected_drafted(acceptance, 0) == 0
    assert replay_improvement_factor(acceptance, 0, cost=COST) == 1


def test_a_perfect_draft_needs_one_call_per_gamma_plus_one() -> None:
    assert expected_calls(np.ones(12), [1, 2, 3, 11, 50]).tolist() == [6, 4, 3, 1, 1]


def test_the_last_token_is_the_targets_own() -> None:
    assert draft_lengths(5, 3).tolist() == [3, 3, 2, 1, 0]
    assert draft_lengths(5, 3, limit=7).tolist() == [3, 3, 3, 3, 2]
    assert draft_lengths(4, 3, drafted=[0, 9, 1, 2]).tolist() == [0, 2, 1, 0]


def test_constant_acceptance_is_a_finite_text_of_theorem_8() -> None:
    for gamma in (1, 3, 6):
        replayed = expected_calls(np.full(50, 0.8), gamma)
        assert replayed == pytest.approx(finite_calls(0.8, gamma, length=50), rel=1e-13)


def test_the_factor_is_the_baseline_over_the_replayed_time() -> None:
    acceptance = np.random.default_rng(6).random(40)
    seconds = expected_seconds(acceptance, 4, cost=COST)
    factor = replay_improvement_factor(acceptance, 4, cost=COST)
    assert factor == pytest.approx(40 * 1.02 / seconds)


def test_one_replay_for_each_gamma() -> None:
    acceptance = np.random.default_rng(7).random(30)
    calls = expected_calls(acceptance, [[1, 2], [3, 4]])
    assert calls.shape == (2, 2)
    assert calls[1, 0] == pytest.approx(expected_calls(acceptance, 3), rel=1e-14)


def test_a_matrix_of_a_vectors_entries_changes_nothing() -> None:
    acceptance = np.random.default_rng(8).random(30)
    reach = np.minimum(np.arange(30)[:, np.newaxis] + np.arange(6), 29)
    assert expected_calls(acceptance[reach], 6) == pytest.approx(expected_calls(acceptance, 6))


def test_a_prompt_lookup_without_a_match_costs_a_plain_step() -> None:
    # A match of two tokens at position 1, accepted in full; nothing else is proposed.
    acceptance = np.zeros((5, 3))
    acceptance[1, :2] = 1
    drafted = [0, 2, 0, 0, 0]
    assert block_starts(acceptance, 3, drafted=drafted).tolist() == [1, 1, 0, 0, 1]
    assert expected_drafted(acceptance, 3, drafted=drafted) == 2


def test_entries_that_no_block_reads_may_be_anything() -> None:
    acceptance = np.full((4, 3), np.nan)
    acceptance[0, 0] = 0.5
    acceptance[1, 0] = 0.25
    acceptance[1, 1] = 1.0
    drafted = np.array([1, 2, 0, 0])
    # From 0: to 1 or 2; from 1: to 2 with 3/4, to 3 with 0 and to 4 with 1/4; from 2 to 3.
    starts = block_starts(acceptance, 3, drafted=drafted)
    assert starts.tolist() == [1, 0.5, 0.5 + 0.5 * 0.75, 0.875]


@pytest.mark.parametrize(
    ("acceptance", "gamma", "options", "message"),
    [
        ([0.5, 1.2], 1, {}, r"acceptance must lie in \[0, 1\], got 1.2"),
        ([0.5, np.nan], 1, {}, r"acceptance must lie in \[0, 1\], got nan"),
        ([[0.5, 0.2], [1.2, 0.2], [0.5, 0.2]], 2, {}, r"acceptance must lie in \[0, 1\], got 1.2"),
        ([], 1, {}, r"acceptance must have shape .* and not be empty, got \(0,\)"),
        (0.5, 1, {}, r"acceptance must have shape .*, got \(\)"),
        (np.zeros((9, 2)), 3, {}, "acceptance must have as many offsets as .*, 3, got 2"),
        ([0.5, 0.5], -1, {}, "gamma must be at least 0, got -1"),
        ([0.5, 0.5], 1, {"limit": 1}, "limit must be at least the text's 2 positions, got 1"),
        ([0.5, 0.5], 1, {"drafted": [1]}, r"drafted must have shape \(2,\), got \(1,\)"),
        ([0.5, 0.5], 1, {"drafted": [1, -1]}, "drafted must be at least 0, got -1"),
    ],
)
def test_bad_arguments_are_refused(
    acceptance: object, gamma: int, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        expected_calls(acceptance, gamma, **options)  # type: ignore[arg-type]
