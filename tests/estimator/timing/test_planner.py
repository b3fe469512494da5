"""The adaptive policy's planner."""

import numpy as np
import pytest
from pairs import PROMPTS, tiny_pair

from estimator.timing.arms import adaptive, planner, planning_generations, probed_gammas
from estimator.timing.precision import Timing
from reference.laws import Sampling
from reference.records import Stopping
from reference.speculative import Subject
from simulator.acceptance.acceptance import Iid
from simulator.choice.curve import speed_up
from simulator.cost.curves import CostModel

COST = CostModel(target_seconds={1: 1.0, 3: 1.2, 9: 2.0}, draft_seconds=0.1, overhead_seconds=0.05)


def test_the_planner_chooses_the_best_gamma_at_each_alpha() -> None:
    plan = planner(COST, max_gamma=8)
    for alpha in np.linspace(0, 1, 41):
        factors = [speed_up(Iid(alpha), COST, gamma) for gamma in range(9)]
        assert factors[plan(alpha)] == pytest.approx(max(factors))


def test_the_planner_does_not_speculate_without_acceptance() -> None:
    assert planner(COST, max_gamma=8)(0.0) == 0
    assert planner(COST, max_gamma=8)(1.0) == 8


@pytest.mark.parametrize(
    ("most", "gammas"), [(1, [1]), (2, [1, 2]), (5, [1, 2, 4, 5]), (16, [1, 2, 4, 8, 16])]
)
def test_a_curve_is_probed_at_few_points(most: int, gammas: list[int]) -> None:
    assert probed_gammas(most) == gammas


def test_the_adaptive_policy_plans_with_what_it_measured() -> None:
    sampling = Sampling()
    target, drafter = tiny_pair(sampling)
    calls = []
    policy = adaptive(
        Subject(target, drafter, sampling, Stopping(12)),
        PROMPTS,
        Timing(progress=lambda: calls.append(1)),
        max_gamma=4,
    )
    # Two prompts; baseline, its second run and three probes.
    assert len(calls) == planning_generations(PROMPTS, 4) == 10
    assert 0 <= policy.gamma([]) <= 4
