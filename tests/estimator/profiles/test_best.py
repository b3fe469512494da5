"""A profile's numbers at its best gamma, and by position."""

from dataclasses import replace

import pytest

from estimator.profiles.best import added_by_position, best_by_batch, best_of
from estimator.profiles.parts import Alpha, DraftAcceptance, Estimate, Setup
from estimator.profiles.profile import Improvement, LoadCosts, Profile, TimesMs

# A first token is accepted in 3 of 4 blocks, a second one in half of those.
PROFILE = Profile(
    alpha=Alpha(0.75),
    draft_sampling="sampled",
    draftings={
        "sampled": DraftAcceptance(Alpha(0.75), {1: (0.0, 1 / 1.75), 2: (0.0, 0.0, 1 / 2.25)})
    },
    setup=Setup(target="big", draft="small"),
    times=TimesMs({1: 10.0, 2: 11.0, 3: 12.0}, 1.0, {1: 1.0, 2: 2.0}, overhead_ms=0.5),
    optimal_gamma=2,
    improvement_factor={1: Improvement(1.4, 1.4), 2: Improvement(1.5, 1.6)},
)


def test_the_best_has_its_gain_its_times_and_the_cost_of_one_more_token() -> None:
    best = best_of(PROFILE)
    assert best is not None
    assert (best.gamma, best.gain) == (2, PROFILE.improvement_factor[2])
    assert best.seconds == pytest.approx((0.002, 0.012, 0.0005))
    assert best.slope == pytest.approx(0.1)
    idle = best_of(replace(PROFILE, optimal_gamma=0))
    assert idle is not None
    assert (idle.gamma, idle.gain) == (0, Improvement(1.0, 1.0))
    assert best_of(replace(PROFILE, times=None, optimal_gamma=None)) is None


def test_a_batch_has_the_best_gamma_of_its_own_times() -> None:
    quick = LoadCosts(4, 64, {1: 10.0, 2: 10.5, 3: 11.0}, 1.0, {1: 1.0, 2: 2.0}, 0.0)
    dear = LoadCosts(32, 64, {1: 10.0, 2: 25.0, 3: 40.0}, 1.0, {1: 1.0, 2: 2.0}, 0.0)
    found = best_by_batch(replace(PROFILE, load=(quick, dear)))
    assert [(each.load.batch, each.gamma) for each in found] == [(4, 2), (32, 0)]


def test_each_timed_position_adds_its_accepted_tokens() -> None:
    added, powers = added_by_position(PROFILE)
    assert added == pytest.approx([0.75, 0.5])
    assert powers == pytest.approx([0.75, 0.75**2])
    timed_once = replace(PROFILE, improvement_factor={1: PROFILE.improvement_factor[1]})
    assert added_by_position(timed_once)[0] == pytest.approx([0.75])
    untimed = replace(PROFILE, improvement_factor={})
    assert added_by_position(untimed)[0] == pytest.approx([0.75, 0.5])


def test_no_position_adds_more_than_the_one_before() -> None:
    """Blocks of another length begin elsewhere, so that tokens per call can rise in steps."""
    blocks = {1: (0.0, 0.6), 2: (0.0, 0.0, 0.55), 3: (0.0, 0.0, 0.0, 0.4)}
    rising = replace(
        PROFILE,
        draftings={"sampled": DraftAcceptance(Alpha(0.75), blocks)},
        improvement_factor={gamma: Improvement(1.5, 1.5) for gamma in (1, 2, 3)},
    )
    tokens = [1 / 0.6, 1 / 0.55, 1 / 0.4]
    assert tokens[2] - tokens[1] > tokens[1] - tokens[0]
    added, _ = added_by_position(rising)
    assert added == sorted(added, reverse=True)
    assert 1 + sum(added) == pytest.approx(tokens[-1])
    counted = (Estimate(0.8), Estimate(0.5), Estimate(0.2))
    drafting = DraftAcceptance(Alpha(0.75), blocks, accepted_by_position=counted)
    assert added_by_position(replace(rising, draftings={"sampled": drafting}))[0] == [0.8, 0.5, 0.2]


@pytest.mark.parametrize(("best", "gamma"), [(None, 1), (0, 1), (1, 1), (4, 4)])
def test_workloads_are_compared_at_the_best_gamma_that_drafts(best: int | None, gamma: int) -> None:
    assert replace(PROFILE, optimal_gamma=best).compared_gamma == gamma
