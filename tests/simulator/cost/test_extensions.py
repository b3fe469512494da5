"""Beam search and drafts of drafts as costs."""

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid
from simulator.acceptance.replay import hierarchical_cost
from simulator.cost.cost import Ratio
from simulator.cost.curves import BeamCost, CostModel
from tests.simulator.iid_process import finite_seconds, tokens_law
from tests.simulator.planned import planned

BEAMS = BeamCost(2, 4, {1: 1.1, 101: 11.1}, {1: 0.01, 101: 1.01})


def test_a_call_reads_the_beams_and_the_drafts() -> None:
    assert BeamCost(4, 8, {1: 1.0}, {1: 0.0}).budget([0, 1, 3]).tolist() == [4, 12, 28]
    assert BeamCost(4, 4, {1: 1.0}, {1: 0.0}).budget(2) == 12


def test_a_block_is_drafted_from_w_beams_on_with_u_and_checked_in_one_call() -> None:
    assert BEAMS.drafting_seconds([0, 1, 3]) == pytest.approx([0, 0.02, 0.02 + 2 * 0.04])
    assert BEAMS.checking_seconds(3) == pytest.approx(1 + 0.1 * (2 + 4 * 3))
    assert BEAMS.baseline_seconds == pytest.approx(1.2)
    assert BEAMS.c == pytest.approx(0.04 / 1.2)


def test_a_plan_of_beams_takes_the_chance_that_the_drafts_hold_the_targets() -> None:
    """The steps of a call by where the first miss falls, term by term (A.4 with Eq. 1)."""
    r = 0.8
    found = planned(Iid(r), BEAMS, max_gamma=5)
    gamma = np.arange(1, 6)
    steps = [sum((k + 1) * r**k * (1 - r) for k in range(g)) + (g + 1) * r**g for g in gamma]
    block = 1 + 0.1 * (2 + 4 * gamma) + 0.02 + 0.04 * (gamma - 1)
    assert found.curve.expected_tokens == pytest.approx(steps)
    assert found.curve.improvement_factor == pytest.approx(np.array(steps) * 1.2 / block)


@pytest.mark.parametrize("inner_gamma", [0, 1, 3, 12])
@pytest.mark.parametrize("inner_alpha", [0.0, 0.7, 1.0])
def test_a_draft_is_a_text_of_the_draft_model(inner_gamma: int, inner_alpha: float) -> None:
    inner = Ratio(0.1)
    cost = hierarchical_cost(Ratio(0.2), inner=inner, alpha=inner_alpha, gamma=inner_gamma)
    for gamma in (1, 4, 9):
        steps = finite_seconds(inner_alpha, inner_gamma, cost=inner, length=gamma)
        assert cost.drafting_seconds(gamma) == pytest.approx(0.2 * steps, rel=1e-12)
    assert cost.drafting_seconds(0) == 0


def test_only_the_cost_of_drafting_changes() -> None:
    alone = CostModel({1: 0.02, 5: 0.03}, 0.004, 0.001, 0.0005)
    inner = CostModel({1: 0.5}, 0.1)
    cost = hierarchical_cost(alone, inner=inner, alpha=0.6, gamma=2)
    # The draft model's own step is the outer cost's; the unit of the inner cost does not matter.
    steps = finite_seconds(0.6, 2, cost=Ratio(0.2), length=4)
    assert cost.block_seconds(4) == pytest.approx(0.004 * steps + 0.03 + 0.001)
    for name in ("in_seconds", "observed_gamma", "step_seconds", "baseline_seconds", "c",
                 "verification_free"):  # fmt: skip
        assert getattr(cost, name) == getattr(alone, name)


def test_without_inner_drafting_it_is_theorem_8() -> None:
    cost = hierarchical_cost(Ratio(0.1), inner=Ratio(0.2), alpha=0.6, gamma=0)
    found, single = (planned(Iid(0.8), each) for each in (cost, Ratio(0.1)))
    assert found.curve.improvement_factor == pytest.approx(single.curve.improvement_factor)
    assert (found.lower_bound, found.break_even_c) == (None, None)


def test_a_perfect_free_inner_drafter_makes_a_draft_cost_one_step() -> None:
    cost = hierarchical_cost(Ratio(0.3), inner=Ratio(0.0), alpha=1.0, gamma=9)
    assert cost.drafting_seconds([1, 5, 9]) == pytest.approx(0.3)


def test_a_capable_draft_that_is_too_dear_alone_pays_with_a_cheap_one_before_it() -> None:
    # §6: hierarchy "could allow for more capable approximation models".
    alone = planned(Iid(0.9), Ratio(0.3)).improvement_factor
    cost = hierarchical_cost(Ratio(0.3), inner=Ratio(0.02), alpha=0.8, gamma=4)
    assert planned(Iid(0.9), cost).improvement_factor > 1.4 * alone


@pytest.mark.parametrize("gammas", [(7, 3, 2), (5, 5, 1), (4, 0, 3), (6, 2, 0)])
def test_three_stages_are_the_recursion_longhand(gammas: tuple[int, int, int]) -> None:
    first, middle, last = gammas
    innermost = Ratio(0.1)

    def middle_block(drafted: int) -> float:
        return 1 + 0.2 * finite_seconds(0.5, last, cost=innermost, length=drafted)

    def steps(left: int) -> float:
        if left == 0:
            return 0.0
        drafted = min(middle, left - 1)
        law = tokens_law(0.7, drafted)
        later = sum(odds * steps(left - tokens) for tokens, odds in enumerate(law, start=1))
        return middle_block(drafted) + later

    second = hierarchical_cost(Ratio(0.2), inner=innermost, alpha=0.5, gamma=last)
    cost = hierarchical_cost(Ratio(0.3), inner=second, alpha=0.7, gamma=middle)
    assert cost.drafting_seconds(first) == pytest.approx(0.3 * steps(first))


def test_monte_carlo_agrees() -> None:
    """The mean cost of 100,000 drafts of 7 tokens; odds of a false alarm 6e-7."""
    source, drafts = np.random.default_rng(22), 100_000
    left, spent = np.full(drafts, 7), np.zeros(drafts)
    while (active := left > 0).any():
        drafted = np.minimum(2, left[active] - 1)
        stands = (source.random((len(drafted), 2)) < 0.7).cumprod(axis=1)
        accepted = (stands * (np.arange(2) < drafted[:, None])).sum(axis=1)
        spent[active] += 1 + 0.1 * drafted
        left[active] -= accepted + 1
    cost = hierarchical_cost(Ratio(0.25), inner=Ratio(0.1), alpha=0.7, gamma=2)
    error = 0.25 * spent.std() / np.sqrt(drafts)
    assert abs(0.25 * spent.mean() - cost.drafting_seconds(7)) < 5 * error
