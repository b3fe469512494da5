"""The three acceptances agree where they mean the same, and a plan takes each of them."""

from typing import Any

import numpy as np
import pytest

from simulator.acceptance.acceptance import Acceptance, Iid, PositionRates, iid_error
from simulator.acceptance.replay import Replay
from simulator.acceptance.replayed import Replayed
from simulator.choice.curve import best_gamma, speed_up
from simulator.choice.plan import plan
from simulator.cost.cost import Cost, Ratio
from simulator.cost.curves import CostModel
from tests.simulator.planned import planned

COST = CostModel({1: 0.02, 2: 0.03, 5: 0.034, 9: 0.05}, 0.002, 0.001, 0.0004)
# The example of a server's log: mean acceptance length 2.49 with three drafted tokens.
PRINTED = (0.705, 0.494, 0.293)


def printed() -> PositionRates:
    return PositionRates((0.705, 0.494 / 0.705, 0.293 / 0.494))


def recorded(rates: np.ndarray, *, max_gamma: int = 8, **options: Any) -> Replayed:
    blocks = {
        gamma: tuple((Replay(rates, **options).blocks(gamma) / len(rates)).tolist())
        for gamma in range(1, max_gamma + 1)
    }
    return Replayed(float(rates.mean()), blocks)


ALL: list[Acceptance] = [
    Iid(0.7),
    printed(),
    recorded(np.random.default_rng(1).random(60)),
]


@pytest.mark.parametrize("acceptance", ALL, ids=lambda each: each.kind)
@pytest.mark.parametrize("cost", [Ratio(0.1), COST], ids=["ratio", "curves"])
def test_laws_of_every_acceptance_under_every_cost(acceptance: Acceptance, cost: Cost) -> None:
    gammas = np.arange(0, 13)
    calls = acceptance.per_token(lambda lengths: np.ones(lengths.shape), gammas)
    assert calls[0] == 1
    assert speed_up(acceptance, cost, 0) == 1
    assert acceptance.tokens_per_call(gammas) == pytest.approx(1 / calls)
    # Every call adds one token of its own, and no more can be accepted than were drafted.
    assert (1 - calls <= acceptance.drafted_per_token(gammas) + 1e-12).all()
    checking = acceptance.per_token(cost.checking_seconds, gammas)
    drafting = acceptance.per_token(cost.drafting_seconds, gammas)
    seconds = acceptance.seconds_per_token(gammas, cost)
    assert seconds == pytest.approx(checking + drafting, rel=1e-12)
    best = best_gamma(acceptance, cost, max_gamma=12)
    assert speed_up(acceptance, cost, best) == pytest.approx(
        max(1.0, speed_up(acceptance, cost, gammas).max()), rel=1e-12
    )
    last = int(gammas[-1])
    found = plan(acceptance, cost, max_gamma=last)
    assert min(found.within(0.0)) == best
    near = min(found.within(0.2))
    factors = speed_up(acceptance, cost, gammas)
    assert factors[near] >= 0.8 * factors[best]
    assert (factors[:near] < 0.8 * factors[best]).all()


@pytest.mark.parametrize("acceptance", [Iid(0.7), ALL[2]], ids=lambda each: each.kind)
def test_lengths_that_a_law_or_a_replay_gives_have_no_doubt(acceptance: Acceptance) -> None:
    logs, covariance = acceptance.log_lengths([1, 4, 9])
    assert np.exp(logs) == pytest.approx(acceptance.tokens_per_call([1, 4, 9]))
    assert covariance.shape == (3, 3)
    assert not covariance.any()
    assert acceptance.log_lengths(5)[1].shape == (1, 1)


def test_equal_rates_at_all_positions_are_iid() -> None:
    gammas = np.arange(0, 9)
    by_position = PositionRates((0.7, 0.7, 0.7))
    assert by_position.alpha == pytest.approx(0.7, rel=1e-14)
    assert by_position.tokens_per_call(gammas) == pytest.approx(
        Iid(0.7).tokens_per_call(gammas), rel=1e-14
    )
    assert by_position.seconds_per_token(gammas, COST) == pytest.approx(
        Iid(0.7).seconds_per_token(gammas, COST), rel=1e-14
    )


def test_rates_by_position_longhand() -> None:
    acceptance = printed()
    assert acceptance.observed_gamma == 3
    assert acceptance.tokens_per_call([1, 2, 3]) == pytest.approx([1.705, 2.199, 2.492])
    last = 0.293 / 0.494
    assert acceptance.tokens_per_call(5) == pytest.approx(2.492 + 0.293 * last + 0.293 * last**2)
    # A position that is never accepted ends all beyond it.
    assert PositionRates((0.4, 0.0, 0.0)).tokens_per_call([1, 2, 9]) == pytest.approx([1.4] * 3)


def test_alpha_of_rates_by_position_is_the_likeliest_of_their_counts() -> None:
    """In 1000 drafts 705, 494 and 293 reached each position; 707 ended in a rejection.

    A geometric law cut off at γ: drafts that were accepted whole are no failures.
    """
    accepted, rejected = 705 + 494 + 293, 1000 - 293
    alpha = np.linspace(0.001, 0.999, 9981)
    likelihood = accepted * np.log(alpha) + rejected * np.log1p(-alpha)
    found = printed().alpha
    assert found == pytest.approx(accepted / (accepted + rejected))
    assert found == pytest.approx(alpha[likelihood.argmax()], abs=1e-4)
    assert PositionRates((0.0, 0.0)).alpha == 0
    assert PositionRates((1.0, 1.0)).alpha == 1


def test_drawn_blocks_yield_the_tokens_of_rates_by_position() -> None:
    """Within five standard errors: a false alarm once in 1.7 million runs for each gamma."""
    acceptance, blocks = PositionRates((0.9, 0.6, 0.5)), 200_000
    draws = np.random.default_rng(5).random((blocks, 3)) < acceptance.conditional
    for gamma in (1, 2, 3):
        tokens = 1 + draws[:, :gamma].cumprod(axis=1).sum(axis=1)
        error = tokens.std() / np.sqrt(blocks)
        assert abs(tokens.mean() - acceptance.tokens_per_call(gamma)) < 5 * error


@pytest.mark.parametrize("limit", [None, 75])
def test_a_recorded_text_is_its_replay(limit: int | None) -> None:
    rates = np.random.default_rng(2).random(60)
    acceptance = recorded(rates, limit=limit)
    gammas = np.arange(1, 9)
    calls = Replay(rates, limit=limit).calls(gammas)
    assert acceptance.tokens_per_call(gammas) == pytest.approx(60 / calls)
    for gamma in range(1, 9):
        drafted = Replay(rates, limit=limit).blocks(gamma) @ np.arange(gamma + 1)
        assert acceptance.drafted_per_token(gamma) == pytest.approx(drafted / 60)
        seconds = Replay(rates, limit=limit).seconds(gamma, COST)
        assert acceptance.seconds_per_token(gamma, COST) == pytest.approx(seconds / 60)


def test_beyond_the_replayed_gammas_a_long_iid_text_goes_on_as_eq_1_does() -> None:
    acceptance = recorded(np.full(20_000, 0.7), max_gamma=6)
    expected = Iid(0.7).tokens_per_call([7, 12])
    assert acceptance.tokens_per_call([7, 12]) == pytest.approx(expected, rel=1e-3)


LOOKUP = np.random.default_rng(7)
STOOD = (LOOKUP.random(4000) < 0.6).astype(float)


@pytest.mark.parametrize(
    ("rates", "drafted", "replayed", "within"),
    [
        # Blocks that found no match draft nothing at any γ; the others reach the text's end.
        (STOOD, np.where(LOOKUP.random(4000) < 0.7, 0, 4000), 4, 0.03),
        # Matches of a few tokens: each further γ finds fewer blocks that long.
        (STOOD, np.where(LOOKUP.random(4000) < 0.6, 0, LOOKUP.geometric(0.15, 4000)), 4, 0.03),
        # Nothing longer than three tokens is ever proposed.
        (STOOD, np.where(LOOKUP.random(4000) < 0.7, 0, 3), 4, 1e-9),
        # Texts of 64 tokens, whose ends cut more of the blocks the longer these are.
        (np.full(64, 0.95), None, 8, 0.08),
    ],
    ids=["no match", "few tokens", "three at most", "short texts"],
)
def test_beyond_the_replayed_gammas_blocks_stay_short_where_they_were(
    rates: np.ndarray, drafted: np.ndarray | None, replayed: int, within: float
) -> None:
    cost, beyond = Ratio(0.02), np.arange(replayed + 1, 4 * replayed + 1)
    known = recorded(rates, max_gamma=replayed, drafted=drafted)
    truth = recorded(rates, max_gamma=4 * replayed, drafted=drafted)
    for found, true in (
        (speed_up(known, cost, beyond), speed_up(truth, cost, beyond)),
        (known.drafted_per_token(beyond), truth.drafted_per_token(beyond)),
    ):
        assert found == pytest.approx(true, rel=within)
    gap = known.seconds_per_token(replayed, cost) / known.seconds_per_token(replayed + 1, cost)
    true_gap = truth.seconds_per_token(replayed, cost) / truth.seconds_per_token(replayed + 1, cost)
    assert gap == pytest.approx(true_gap, rel=within / 2)
    marked = planned(known, cost, max_gamma=4 * replayed).curve.extrapolated
    assert marked.tolist() == [False] * replayed + [True] * (3 * replayed)


@pytest.mark.parametrize(("rate", "tokens"), [(0.0, 1.0), (1.0, 13.0)])
def test_certain_recordings_go_on_as_they_were(rate: float, tokens: float) -> None:
    found = recorded(np.full(13 * 500, rate), max_gamma=4).tokens_per_call(12)
    assert found == pytest.approx(tokens, rel=0.02)
    assert recorded(np.full(1, rate), max_gamma=2).tokens_per_call(5) == 1


def test_contradictions_to_iid_name_the_gamma_of_the_largest() -> None:
    assert iid_error(Iid(0.7), max_gamma=8) is None
    steep = PositionRates((0.9, 0.6, 0.5))
    alpha = (0.9 + 0.54 + 0.27) / (0.9 + 0.54 + 0.27 + 1 - 0.27)
    assert iid_error(steep, max_gamma=8) == (pytest.approx((1 + alpha) / 1.9 - 1), 1)
    assert planned(steep, Ratio(0.05)).iid_consistent is False
    assert planned(printed(), Ratio(0.05)).iid_consistent is True
    assert planned(Iid(0.7), Ratio(0.05)).iid_consistent is None


def test_rates_of_blocks_that_were_cut_short_do_not_tell_whether_they_are_iid() -> None:
    cut = PositionRates((0.9, 5 / 9, 0.4), cut_short=0.02)
    assert cut.is_lower_bound
    assert planned(cut, Ratio(0.05)).iid_consistent is None
    assert not PositionRates((0.9, 0.6), cut_short=0.01).is_lower_bound


def test_a_plan_marks_gammas_beyond_the_observed() -> None:
    by_position = planned(printed(), Ratio(0.05), max_gamma=6)
    assert by_position.curve.extrapolated.tolist() == [False] * 3 + [True] * 3
    priced = planned(Iid(0.7), COST, max_gamma=10)
    assert priced.curve.extrapolated.tolist() == [False] * 8 + [True] * 2
    assert not planned(Iid(0.7), Ratio(0.05)).curve.extrapolated.any()


def test_a_plan_of_recorded_texts_has_the_iid_numbers_beside_it() -> None:
    rates = np.random.default_rng(3).random(50)
    result = planned(recorded(rates), COST, gamma=4)
    assert result.improvement_factor == pytest.approx(
        50 * COST.baseline_seconds / Replay(rates).seconds(4, COST)
    )
    iid = planned(Iid(float(rates.mean())), COST, gamma=4)
    assert result.improvement_factor_iid == pytest.approx(iid.improvement_factor)
    assert result.improvement_factor_theorem8 == pytest.approx(iid.improvement_factor_theorem8)
    calls, drafted = Replay(rates).calls(4), Replay(rates).blocks(4) @ np.arange(5)
    assert result.accepted_fraction == pytest.approx((50 - calls) / drafted)
    assert result.operations_factor == pytest.approx((drafted * (1 + result.c_hat) + calls) / 50)


def test_the_smallest_gamma_near_the_best_may_be_none() -> None:
    result = planned(Iid(0.5), Ratio(0.499), near=0.01)
    assert result.optimal_gamma == 1
    assert result.gamma_near == 0
