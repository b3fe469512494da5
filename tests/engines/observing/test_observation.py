"""Counts of drafts: their rates, the alpha of largest likelihood, whether i.i.d., a restart."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from engines.counting import rate_interval
from engines.observing.alphas import alpha_of_positions
from engines.observing.observation import Observation


def observation(drafts: int, by_position: tuple[int, ...], **others: object) -> Observation:
    fields = {
        "kind": "vllm",
        "origin": "metrics",
        "stated_gamma": len(by_position),
        "drafts": drafts,
        "drafted": drafts * len(by_position),
        "accepted": sum(by_position),
        "by_position": by_position,
        **others,
    }
    return Observation(**fields)


def drawn(alphas: tuple[float, ...], drafts: int, generator: np.random.Generator) -> Observation:
    """Returns counts of blocks whose positions are accepted with these conditional rates."""
    stands = np.logical_and.accumulate(generator.random((drafts, len(alphas))) < alphas, axis=1)
    return observation(drafts, tuple(int(hits) for hits in stands.sum(axis=0)))


def test_rates_are_over_all_blocks_and_over_those_that_stood_so_far() -> None:
    found = observation(100, (60, 30, 0))
    assert [rate.value for rate in found.unconditional] == [0.6, 0.3, 0.0]
    assert [rate and rate.value for rate in found.conditional] == [0.6, 0.5, 0.0]
    assert observation(100, (60, 0, 0)).conditional[2] is None
    assert found.block_efficiency == 1.9
    assert found.accepted_fraction == 0.3


def test_alpha_has_the_largest_likelihood() -> None:
    found = observation(100, (60, 30, 10))
    grid = np.linspace(0.001, 0.999, 9981)
    # 90 blocks end in a rejection after 0, 1 or 2 successes, 10 in none.
    likelihood = 100 * np.log(grid) + 90 * np.log(1 - grid)
    assert found.alpha_iid.value == pytest.approx(grid[likelihood.argmax()], abs=1e-4)


def test_intervals_of_alpha_hold_it_as_often_as_they_say() -> None:
    generator = np.random.default_rng(3)
    held = totals = 0
    for _ in range(400):
        found = drawn((0.7,) * 4, 300, generator)
        own = found.alpha_iid
        held += own.low <= 0.7 <= own.high
        without = observation(300, (), stated_gamma=4, drafted=1200, accepted=found.accepted)
        of_totals = without.alpha_iid
        totals += of_totals.low <= 0.7 <= of_totals.high
    # 90 % of 400, four standard deviations of 6 below: 3 false alarms in 100 000.
    assert held >= 336
    assert totals >= 336


def blocks(
    alpha: float,
    gamma: int,
    *,
    texts: int,
    length: int,
    shortest: int,
    generator: np.random.Generator,
) -> Observation:
    """Returns counts of blocks of `shortest` to γ tokens, or what is left of their text."""
    drafts, drafted, hits = 0, 0, np.zeros(gamma, dtype=np.int64)
    left = np.full(texts, length)
    while (left > 1).any():
        wanted = generator.integers(shortest, gamma + 1, len(left))
        lengths = np.minimum(wanted, left - 1) * (left > 1)
        stands = np.logical_and.accumulate(generator.random((len(left), gamma)) < alpha, axis=1)
        stands &= np.arange(gamma) < lengths[:, np.newaxis]
        drafts, drafted = drafts + int((left > 1).sum()), drafted + int(lengths.sum())
        hits += stands.sum(axis=0)
        left -= (stands.sum(axis=1) + 1) * (left > 1)
    return observation(drafts, tuple(hits.tolist()), drafted=drafted)


@pytest.mark.parametrize(
    ("alpha", "gamma", "shortest"), [(0.8, 8, 8), (0.9, 8, 8), (0.8, 5, 1), (0.5, 4, 2)]
)
def test_blocks_that_were_cut_short_bound_alpha_from_below(
    alpha: float, gamma: int, shortest: int
) -> None:
    generator = np.random.default_rng(11)
    held = totals = 0
    for _ in range(100):
        found = blocks(alpha, gamma, texts=100, length=64, shortest=shortest, generator=generator)
        own, of_totals = found.alpha_iid, replace(found, by_position=()).alpha_iid
        held += own.low <= alpha <= own.high
        totals += of_totals.low <= alpha <= of_totals.high
        assert found.is_lower_bound
        assert found.iid_p_value is None
        assert found.iid_consistent is None
        assert found.acceptance().is_lower_bound
    # At least 90 % of 100, four standard deviations of 3 below: 3 false alarms in 100 000.
    assert held >= 78
    assert totals >= 78


def test_the_bounds_of_alpha_are_those_of_every_way_to_cut_blocks_short() -> None:
    # Ten blocks of γ = 3, four tokens left out: of seven that were not accepted whole, three had
    # two accepted (whole for a token each) and three one (for two).
    hits, drafts, left_out = (9, 6, 3), 10, 4
    rejected = [
        drafts - hits[2] - two - one
        for two in range(hits[1] - hits[2] + 1)
        for one in range(hits[0] - hits[1] + 1)
        if two + 2 * one <= left_out
    ]
    found = alpha_of_positions(hits, drafts=drafts, left_out=left_out)
    assert found.value == 18 / (18 + max(rejected))
    assert found.low == rate_interval(18, 18 + max(rejected)).low
    assert found.high == rate_interval(18, 18 + min(rejected)).high


@pytest.mark.parametrize(("gamma", "drafts"), [(1, 1), (4, 1), (4, 50)])
def test_totals_of_which_all_or_none_were_accepted_have_an_interval(
    gamma: int, drafts: int
) -> None:
    tokens = gamma * drafts
    every = observation(drafts, (), stated_gamma=gamma, drafted=tokens, accepted=tokens).alpha_iid
    none = observation(drafts, (), stated_gamma=gamma, drafted=tokens, accepted=0).alpha_iid
    # Both are binomial: γ · drafts acceptances, or as many rejections as drafts.
    assert (every.value, every.low, every.high) == (1, rate_interval(tokens, tokens).low, 1)
    assert (none.value, none.low, none.high) == (0, 0, rate_interval(0, drafts).high)


def test_totals_alone_give_the_alpha_of_their_accepted_fraction() -> None:
    alpha, drafts = 0.6, 10**6
    accepted = round(drafts * sum(alpha**i for i in range(1, 5)))
    found = observation(drafts, (), stated_gamma=4, drafted=4 * drafts, accepted=accepted)
    assert found.alpha_iid.value == pytest.approx(0.6, abs=1e-6)
    assert found.unconditional == ()
    assert found.iid_consistent is None
    assert found.acceptance().alpha == pytest.approx(0.6, abs=1e-6)
    assert not found.acceptance().tells_iid


def test_iid_acceptances_are_distinguished_from_others() -> None:
    generator = np.random.default_rng(5)
    alarms = sum(not drawn((0.7,) * 4, 500, generator).iid_consistent for _ in range(300))
    # One in a hundred, so 3 of 300; four standard deviations of 1.7 above.
    assert alarms <= 10
    caught = sum(not drawn((0.6, 0.7, 0.8, 0.8), 500, generator).iid_consistent for _ in range(20))
    assert caught == 20
    assert observation(100, (60,)).iid_p_value is None


def test_rates_by_position_are_planned_with() -> None:
    acceptance = observation(100, (60, 30, 10)).acceptance()
    assert acceptance.kind == "by_position"
    assert acceptance.observed_gamma == 3
    assert float(acceptance.tokens_per_call(3)) == pytest.approx(2.0)


def test_gamma_is_the_least_that_explains_the_counts_where_nothing_tells_it() -> None:
    assert observation(100, (60, 5), stated_gamma=None, drafted=330).gamma == 4
    assert observation(100, (60, 5), stated_gamma=None, drafted=120).gamma == 2
    assert observation(100, (60, 5), stated_gamma=None, drafted=330).hits == (60, 5, 0, 0)


def test_readings_of_one_server_are_subtracted_and_of_two_added() -> None:
    one, other = observation(100, (60, 30), model="M"), observation(40, (20, 10), model="N")
    between, both = one.since(other), one + other
    assert (between.drafts, between.drafted, between.hits) == (60, 120, (40, 20))
    assert (both.drafts, both.accepted, both.hits, both.model) == (140, 120, (80, 40), None)


def test_a_source_without_positions_leaves_totals_alone() -> None:
    def untold(drafts: int, **others: object) -> Observation:
        return observation(drafts, (), kind="llama.cpp", stated_gamma=None, **others)

    told = observation(100, (60, 40), kind="llama.cpp", stated_gamma=None)
    total = untold(100, drafted=200, accepted=100, origin="timings")
    for both in (told + total, total + told):
        assert both.unconditional == ()
        # α + α² = 1, of 200 accepted in 200 drafts.
        assert both.alpha_iid.value == pytest.approx((5**0.5 - 1) / 2)
    nothing = untold(50, drafted=100)
    assert (told + nothing).hits == (nothing + told).hits == (60, 40)
    later = untold(400, drafted=800, accepted=400, origin="timings").since(told)
    assert (later.hits, later.accepted) == ((), 300)


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        (lambda: observation(40, (20, 10)).since(observation(100, (60, 30))),
         "counters must not fall or restart between two readings, got 100 drafts, then 40: "
         "the server was restarted"),
        (lambda: observation(100, (20,), began=2.0).since(observation(40, (20,), began=1.0)),
         "counters must not fall or restart"),
        (lambda: observation(100, (60, 30)) + observation(100, (60,)),
         "sources must be of one gamma, got 2 and 1"),
        (lambda: observation(100, (60, 30)) + observation(100, (60, 30), kind="sglang"),
         "sources must be of one engine, got vllm and sglang"),
        (lambda: observation(100, (60, 70)),
         "accepted tokens by position must not rise from one to the next, got 60, 70 of 100"),
        (lambda: observation(100, (60, 30, 10), stated_gamma=2, drafted=200),
         "gamma must be at least the 3 tokens that blocks drafted, got 2"),
        (lambda: observation(100, (), stated_gamma=2, drafted=290, accepted=100),
         "gamma must be at least the 3 tokens that blocks drafted, got 2"),
        (lambda: observation(100, (), drafted=3, accepted=4),
         "accepted tokens must be among those drafted, got 4 of 3"),
    ],
)  # fmt: skip
def test_refuses(refusal: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        refusal()


def test_counts_that_contradict_their_positions_are_named() -> None:
    fits = observation(1000, (700, 500, 300), accepted=1504)
    assert fits.contradictions == ()
    (said,) = observation(1000, (700, 500, 300), accepted=1800).contradictions
    assert said == (
        "1800 tokens were accepted, and 1500 by position: the rates by position are used"
    )
