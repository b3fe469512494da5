"""Replay against the literal recursion, against enumeration, and in its exact cases."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.acceptance.replay import Replay
from simulator.acceptance.replayed import Replayed
from simulator.cost.curves import CostModel
from tests.simulator.iid_process import finite_seconds

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
            calls = Replay(acceptance, **options).calls(gamma)
            assert calls == pytest.approx(literal(lambda g: 1.0), rel=1e-12)
            blocks = Replay(acceptance, **options).blocks(gamma)
            assert blocks.shape == (gamma + 1,)
            for price in (float, lambda g: float(g == gamma), lambda g: float(g == 1)):
                priced = sum(count * price(g) for g, count in enumerate(blocks))
                assert priced == pytest.approx(literal(price), rel=1e-12, abs=1e-14)
            assert Replay(acceptance, **options).seconds(gamma, COST) == pytest.approx(
                literal(lambda g: float(COST.block_seconds(g))), rel=1e-12
            )


@pytest.mark.parametrize("positions", [1, 2, 5, 9])
@pytest.mark.parametrize("gamma", [1, 2, 4, 12])
@pytest.mark.parametrize("slack", [0, 3])
def test_replay_is_the_mean_over_all_outcomes(positions: int, gamma: int, slack: int) -> None:
    acceptance = np.random.default_rng([positions, gamma]).random(positions)
    limit = positions + slack
    blocks = Replay(acceptance, limit=limit).blocks(gamma)
    for price, replayed in (
        (lambda g: 1.0, blocks.sum()),
        (float, blocks @ np.arange(gamma + 1)),
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
        assert Replay(acceptance).calls(gamma) == calls
        assert Replay(acceptance).blocks(gamma) @ np.arange(gamma + 1) == drafted
        starts = Replay(acceptance).starts(gamma)
        assert set(starts.tolist()) == {0.0, 1.0}


def test_a_perfect_draft_needs_one_call_per_gamma_plus_one() -> None:
    assert Replay(np.ones(12)).calls([1, 2, 3, 11, 50]).tolist() == [6, 4, 3, 1, 1]


def test_a_limit_beyond_the_text_lengthens_drafts_and_moves_no_start() -> None:
    assert Replay(np.zeros(2), limit=4).lengths(2).tolist() == [2, 2]
    assert Replay([0.5, 0.5], limit=4).starts(2).tolist() == [1, 0.5]


def test_texts_in_which_no_draft_stands_are_recorded_whatever_the_rounding() -> None:
    # One block a token: shares that add up to 1, or to the next float for a few of these.
    generator = np.random.default_rng(0)
    for length in range(2, 120):
        blocks = {}
        for gamma in range(1, 9):
            counts = np.zeros(gamma + 1)
            for positions in (length, length + 3, length + 7):
                drafted = generator.integers(0, gamma + 1, positions)
                counts += Replay(np.zeros(positions), drafted=drafted).blocks(gamma)
            blocks[gamma] = tuple((counts / (3 * length + 10)).tolist())
        assert Replayed(0.0, blocks).tokens_per_call([1, 8]) == pytest.approx(1, rel=1e-14)


def test_the_last_token_is_the_targets_own() -> None:
    assert Replay(np.zeros(5)).lengths(3).tolist() == [3, 3, 2, 1, 0]
    assert Replay(np.zeros(5), limit=7).lengths(3).tolist() == [3, 3, 3, 3, 2]
    assert Replay(np.zeros(4), drafted=[0, 9, 1, 2]).lengths(3).tolist() == [0, 2, 1, 0]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9, 0.9999, 1.0])
@pytest.mark.parametrize("gamma", [0, 1, 3, 10])
@pytest.mark.parametrize("length", [1, 2, 4, 5, 40])
def test_constant_acceptance_is_a_text_of_blocks_that_follow_the_law_of_tau(
    alpha: float, gamma: int, length: int
) -> None:
    replayed = Replay(np.full(length, alpha)).seconds(gamma, COST)
    longhand = finite_seconds(alpha, gamma, cost=COST, length=length)
    assert replayed == pytest.approx(longhand, rel=1e-12)


def test_positions_stand_as_often_as_the_draws_of_a_constant_rate() -> None:
    accepted, offered = Replay(np.full(40, 0.7), limit=50).positions(6)
    assert (offered > 0).all()
    np.testing.assert_allclose(accepted / offered, 0.7 ** np.arange(1, 7), rtol=1e-12)


@pytest.mark.parametrize("gamma", [1, 3, 7])
def test_positions_are_those_of_a_text_decoded_block_by_block(gamma: int) -> None:
    generator = np.random.default_rng(gamma)
    stands = (generator.random((30, gamma)) < 0.6).astype(float)
    drafted = generator.integers(0, gamma + 1, 30)
    accepted, offered = [0] * gamma, [0] * gamma
    t = 0
    while t < 30:
        g = min(gamma, 30 - t - 1, int(drafted[t]))
        count = int([*stands[t, :g], 0].index(0))
        for k in range(g):
            offered[k] += 1
            accepted[k] += k < count
        t += count + 1
    counts = Replay(stands, drafted=drafted).positions(gamma)
    assert [each.tolist() for each in counts] == [accepted, offered]
    calls = Replay(stands, drafted=drafted).calls(gamma)
    assert sum(accepted) == 30 - calls


def test_one_replay_for_each_gamma_and_a_matrix_of_a_vectors_entries_changes_nothing() -> None:
    acceptance = np.random.default_rng(7).random(30)
    calls = Replay(acceptance).calls([[1, 2], [3, 4]])
    assert calls.shape == (2, 2)
    assert calls[1, 0] == pytest.approx(Replay(acceptance).calls(3), rel=1e-14)
    reach = np.minimum(np.arange(30)[:, np.newaxis] + np.arange(6), 29)
    assert Replay(acceptance[reach]).calls(6) == pytest.approx(Replay(acceptance).calls(6))


def test_a_prompt_lookup_without_a_match_costs_a_plain_step() -> None:
    # A match of two tokens at position 1, accepted in full; nothing else is proposed.
    acceptance = np.zeros((5, 3))
    acceptance[1, :2] = 1
    drafted = [0, 2, 0, 0, 0]
    assert Replay(acceptance, drafted=drafted).starts(3).tolist() == [1, 1, 0, 0, 1]
    assert Replay(acceptance, drafted=drafted).blocks(3).tolist() == [2, 0, 1, 0]


def test_entries_that_no_block_reads_may_be_anything() -> None:
    acceptance = np.full((4, 3), np.nan)
    acceptance[0, 0] = 0.5
    acceptance[1, 0] = 0.25
    acceptance[1, 1] = 1.0
    drafted = np.array([1, 2, 0, 0])
    # From 0: to 1 or 2; from 1: to 2 with 3/4, to 3 with 0 and to 4 with 1/4; from 2 to 3.
    starts = Replay(acceptance, drafted=drafted).starts(3)
    assert starts.tolist() == [1, 0.5, 0.5 + 0.5 * 0.75, 0.875]


def test_the_tokens_of_all_blocks_are_the_text() -> None:
    generator = np.random.default_rng(3)
    for rates in (generator.random(40), generator.random((40, 6))):
        replay = Replay(rates, limit=50)
        for gamma in (1, 3, 6):
            assert replay.starts(gamma) @ replay.emitted(gamma) == pytest.approx(40, rel=1e-12)
