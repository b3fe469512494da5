"""Hierarchical drafting: plain recursion, degenerate cases, brute force and Monte Carlo."""

import numpy as np
import pytest

from simulator.acceptance.beta_laws import EmpiricalLaw
from simulator.acceptance.tokens import expected_tokens, tokens_distribution
from simulator.choice.optimum import optimal_gamma
from simulator.choice.walltime import improvement_factor
from simulator.monte_carlo.monte_carlo import simulate_texts
from simulator.schemes.hierarchical import (
    Stage,
    drafting_cost,
    hierarchical_improvement_factor,
    optimal_gammas,
    staged_drafting_cost,
    staged_improvement_factor,
)


def plain_cost(gamma: int, inner_alpha: float, inner_gamma: int, inner_c: float) -> float:
    """Draft steps for gamma tokens, the law of each inner block written out."""
    if gamma == 0:
        return 0.0
    drafted = min(inner_gamma, gamma - 1)
    law = tokens_distribution(inner_alpha, drafted)
    later = sum(
        odds * plain_cost(gamma - tokens, inner_alpha, inner_gamma, inner_c)
        for tokens, odds in enumerate(law, start=1)
    )
    return float(1 + drafted * inner_c + later)


@pytest.mark.parametrize("gamma", [0, 1, 4, 9])
@pytest.mark.parametrize("inner_gamma", [0, 1, 3, 12])
def test_drafting_costs_what_the_recursion_says(gamma: int, inner_gamma: int) -> None:
    for inner_alpha in (0.0, 0.7, 1.0):
        cost = drafting_cost(
            gamma, inner_alpha=inner_alpha, inner_gamma=inner_gamma, c=0.2, inner_c=0.1
        )
        expected = 0.2 * plain_cost(gamma, inner_alpha, inner_gamma, 0.1)
        assert cost == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_without_inner_drafting_it_is_theorem_8() -> None:
    alpha, gamma = np.linspace(0, 1, 11)[:, np.newaxis], np.arange(8)
    factor = hierarchical_improvement_factor(
        alpha, gamma, inner_alpha=0.6, inner_gamma=0, c=0.1, inner_c=0.2
    )
    assert factor == pytest.approx(improvement_factor(alpha, gamma, 0.1), rel=1e-13)


def test_a_perfect_free_inner_drafter_makes_a_draft_cost_one_step() -> None:
    cost = drafting_cost([1, 5, 9], inner_alpha=1.0, inner_gamma=9, c=0.3, inner_c=0.0)
    assert cost == pytest.approx(0.3)


def test_a_useless_inner_drafter_is_not_used() -> None:
    best = optimal_gammas(
        0.8, inner_alpha=0.05, c=0.1, inner_c=0.1, max_gamma=16, max_inner_gamma=8
    )
    assert best.inner_gamma == 0
    assert best.gamma == optimal_gamma(0.8, 0.1, max_gamma=16)
    assert best.improvement_factor == pytest.approx(improvement_factor(0.8, best.gamma, 0.1))


def test_where_nothing_helps_neither_level_speculates() -> None:
    best = optimal_gammas(
        [0.1, 0.0], inner_alpha=0.1, c=0.5, inner_c=0.5, max_gamma=8, max_inner_gamma=4
    )
    assert best.gamma.tolist() == [0, 0]
    assert best.inner_gamma.tolist() == [0, 0]
    assert best.improvement_factor.tolist() == [1, 1]


def test_the_best_pair_is_that_of_brute_force() -> None:
    rng = np.random.default_rng(21)
    alpha, inner_alpha = rng.uniform(0.5, 0.98, 30), rng.uniform(0, 0.98, 30)
    c, inner_c = rng.uniform(0.02, 0.4, (2, 30))
    gamma, inner_gamma = np.arange(1, 15)[:, None, None], np.arange(7)[:, None]
    factors = hierarchical_improvement_factor(
        alpha, gamma, inner_alpha=inner_alpha, inner_gamma=inner_gamma, c=c, inner_c=inner_c
    )
    best = optimal_gammas(
        alpha, inner_alpha=inner_alpha, c=c, inner_c=inner_c, max_gamma=14, max_inner_gamma=6
    )
    most = factors.max(axis=(0, 1))
    assert best.improvement_factor == pytest.approx(np.maximum(most, 1), rel=1e-13)
    pays = best.gamma > 0
    places = (best.gamma[pays] - 1, best.inner_gamma[pays], np.flatnonzero(pays))
    assert factors[places] == pytest.approx(most[pays], rel=1e-13)
    # Hierarchy is worth something for some of these pairs, and not for others.
    assert 5 < np.count_nonzero(best.inner_gamma) < 30


def test_a_capable_draft_that_is_too_dear_alone_pays_with_a_cheap_one_before_it() -> None:
    # §6: hierarchy "could allow for more capable approximation models".
    alone = improvement_factor(0.9, optimal_gamma(0.9, 0.3, max_gamma=32), 0.3)
    best = optimal_gammas(
        0.9, inner_alpha=0.8, c=0.3, inner_c=0.02, max_gamma=32, max_inner_gamma=16
    )
    assert best.inner_gamma > 0
    assert best.improvement_factor > 1.4 * alone


def test_monte_carlo_agrees() -> None:
    # The mean cost of 100,000 drafts of 7 tokens, within 5 standard errors: a false alarm in 1.7
    # million seeds.
    drawn = simulate_texts(
        EmpiricalLaw([0.7]), 2, length=7, texts=100_000, generator=np.random.default_rng(22)
    )
    costs = 0.25 * (drawn.calls + 0.1 * drawn.drafted)
    cost = drafting_cost(7, inner_alpha=0.7, inner_gamma=2, c=0.25, inner_c=0.1)
    assert abs(costs.mean() - cost) < 5 * costs.std() / np.sqrt(100_000)
    factor = hierarchical_improvement_factor(
        0.9, 7, inner_alpha=0.7, inner_gamma=2, c=0.25, inner_c=0.1
    )
    assert factor == pytest.approx(expected_tokens(0.9, 7) / (1 + cost))


def test_bad_arguments_are_refused() -> None:
    good = {"inner_alpha": 0.5, "c": 0.1, "inner_c": 0.1}
    with pytest.raises(ValueError, match=r"inner_alpha must lie in \[0, 1\], got 1.5"):
        drafting_cost(3, inner_gamma=2, **good | {"inner_alpha": 1.5})
    with pytest.raises(ValueError, match=r"inner_c must be finite and at least 0, got -0.1"):
        optimal_gammas(0.5, max_gamma=3, max_inner_gamma=3, **good | {"inner_c": -0.1})
    with pytest.raises(ValueError, match="max_inner_gamma must be at least 1, got 0"):
        optimal_gammas(0.5, max_gamma=3, max_inner_gamma=0, **good)
    with pytest.raises(ValueError, match="alpha and the arguments of drafting_cost must have"):
        hierarchical_improvement_factor([0.5, 0.6], [1, 2, 3], inner_gamma=1, **good)


def test_two_stages_are_the_pair_and_one_is_theorem_8() -> None:
    stages = [Stage(0.8, 6, 0.2), Stage(0.6, 3, 0.1)]
    pair = {"inner_alpha": 0.6, "inner_gamma": 3, "c": 0.2, "inner_c": 0.1}
    assert staged_drafting_cost(stages) == pytest.approx(drafting_cost(6, **pair))
    factor = hierarchical_improvement_factor(0.8, 6, **pair)
    assert staged_improvement_factor(stages) == pytest.approx(factor)
    assert staged_improvement_factor(stages[:1]) == pytest.approx(improvement_factor(0.8, 6, 0.2))


def three_stage_cost(stages: list[Stage]) -> float:
    """Longhand: each block of the middle stage is a text that the last stage's blocks make up."""
    first, middle, last = stages

    def middle_block(drafted: int) -> float:
        return 1 + middle.c * plain_cost(drafted, last.alpha, last.gamma, last.c)

    def steps(left: int) -> float:
        if left == 0:
            return 0.0
        drafted = min(middle.gamma, left - 1)
        law = tokens_distribution(middle.alpha, drafted)
        later = sum(odds * steps(left - tokens) for tokens, odds in enumerate(law, start=1))
        return middle_block(drafted) + later

    return first.c * steps(first.gamma)


def test_three_stages_are_the_recursion_longhand() -> None:
    for gammas in ((7, 3, 2), (5, 5, 1), (4, 0, 3), (6, 2, 0), (0, 2, 2)):
        stages = [
            Stage(alpha, gamma, c)
            for alpha, gamma, c in zip((0.8, 0.7, 0.5), gammas, (0.3, 0.2, 0.1), strict=True)
        ]
        assert staged_drafting_cost(stages) == pytest.approx(three_stage_cost(stages))


def test_a_third_stage_that_is_always_right_and_free_makes_a_middle_block_two_steps() -> None:
    """The middle stage's draft is then one step of its own, beside the step that judges it."""
    stages = [Stage(0.8, 8, 1.0), Stage(1.0, 7, 0.5), Stage(1.0, 7, 0.0)]
    assert staged_drafting_cost(stages) == pytest.approx(1.5)


def test_bad_stages_are_refused() -> None:
    with pytest.raises(ValueError, match="stages must be at least one, got none"):
        staged_drafting_cost([])
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], got 1.1"):
        Stage(1.1, 2, 0.1)
    with pytest.raises(ValueError, match="gamma must be at least 0, got -1"):
        Stage(0.5, -1, 0.1)
    with pytest.raises(ValueError, match=r"c must be finite and at least 0, got -0\.1"):
        Stage(0.5, 1, -0.1)
