"""The speed-up that acceptance and cost make, where it ends, and Theorem 8 as a case of it."""

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid
from simulator.acceptance.tokens import accepted_fraction, expected_tokens
from simulator.choice.break_even import break_even_alpha, break_even_c
from simulator.choice.curve import best_gamma, speed_up
from simulator.choice.walltime import improvement_factor, operations_factor, optimal_gamma
from simulator.cost.cost import Cost, Ratio
from simulator.cost.curves import CostModel

# A 91M-parameter Llama-shaped model on two threads.
MEASURED = CostModel(
    target_seconds={1: 0.033, 2: 0.056, 4: 0.066, 8: 0.075},
    draft_seconds=0.003,
    overhead_seconds=0.001,
    baseline_overhead_seconds=0.0005,
)
GAMMAS = np.arange(1, 17)


def compute_bound(batch: int, *, capacity: int = 32) -> CostModel:
    """Verification is free up to `capacity` tokens in all, then paid by the token; drafts free."""
    return CostModel(
        target_seconds={n: max(1.0, batch * n / capacity) for n in range(1, 40)}, draft_seconds=0.0
    )


def test_the_speed_up_is_tokens_per_block_over_the_targets_own_time() -> None:
    expected = expected_tokens(0.8, 3) * 0.0335 / 0.076
    assert speed_up(Iid(0.8), MEASURED, 3) == pytest.approx(expected, rel=1e-14)
    assert speed_up(Iid(0.8), MEASURED, 0) == 1


@pytest.mark.parametrize("c", [0.0, 0.02, 0.3, 1.5])
def test_free_verification_is_theorem_8(c: float) -> None:
    cost = Ratio(c)
    gamma = np.arange(10)
    for alpha in np.linspace(0, 1, 41).tolist():
        factor = improvement_factor(alpha, gamma, c)
        assert speed_up(Iid(alpha), cost, gamma) == pytest.approx(factor, rel=1e-14)
        if c > 0:  # at c = 0 the last digits decide
            best = optimal_gamma(alpha, c, max_gamma=50)
            assert best_gamma(Iid(alpha), cost, max_gamma=50) == best
        # Corollary 9: γ = 1 breaks even at α = c, and where it loses every longer draft does.
        assert break_even_c(Iid(alpha), cost, max_gamma=50) == pytest.approx(alpha, abs=1e-15)
    needed = c if c <= 1 else float("nan")
    assert break_even_alpha(cost, max_gamma=50) == pytest.approx(needed, abs=1e-14, nan_ok=True)


@pytest.mark.parametrize("gamma", [1, 2, 5, 11])
def test_a_given_gamma_breaks_even_where_c_is_the_accepted_fraction(gamma: int) -> None:
    for alpha in (0.05, 0.5, 0.95):
        c = float(accepted_fraction(alpha, gamma))
        assert speed_up(Iid(alpha), Ratio(c), gamma) == pytest.approx(1)


def test_the_best_gamma_under_a_jagged_curve_is_the_best_of_all() -> None:
    rng = np.random.default_rng(4)
    points = {1: 1.0} | {n: float(rng.uniform(0.8, 2.5)) for n in range(2, 18)}
    cost = CostModel(points, draft_seconds=0.05, overhead_seconds=0.02)
    for alpha in rng.random(200).tolist():
        factors = speed_up(Iid(alpha), cost, np.arange(17))
        assert best_gamma(Iid(alpha), cost, max_gamma=16) == factors.argmax()


def test_break_even_alpha_parts_gain_from_loss() -> None:
    alpha = break_even_alpha(MEASURED, max_gamma=16)
    assert 0 < alpha < 1
    assert speed_up(Iid(alpha - 1e-9), MEASURED, GAMMAS).max() < 1
    assert speed_up(Iid(alpha + 1e-9), MEASURED, GAMMAS).max() > 1


@pytest.mark.parametrize("curve", [{}, {1: 0.0007, 4: 0.0076}], ids=["steps", "first step apart"])
def test_break_even_c_parts_gain_from_loss_and_leaves_all_else_as_it_is(
    curve: dict[int, float],
) -> None:
    def costs(draft: float) -> CostModel:
        steps = {gamma: time + gamma * (draft - 0.003) for gamma, time in curve.items()}
        return CostModel(MEASURED.target_seconds, draft, 0.001, 0.0005, draft_curve=steps)

    edge = break_even_c(Iid(0.8), costs(0.003), max_gamma=16) * 0.033
    assert speed_up(Iid(0.8), costs(edge * 0.999), GAMMAS).max() > 1
    assert speed_up(Iid(0.8), costs(edge * 1.001), GAMMAS).max() < 1


def test_break_even_is_nan_where_nothing_helps() -> None:
    assert np.isnan(break_even_c(Iid(0.0), MEASURED, max_gamma=16))
    assert np.isnan(break_even_alpha(CostModel({1: 1.0, 2: 4.0}, 0.1), max_gamma=16))


@pytest.mark.parametrize(
    ("cost", "at_zero", "above"),
    [
        # Blocks avoid the baseline's overhead: even a useless draft gains.
        (CostModel({1: 1.0}, 0.1, baseline_overhead_seconds=0.5), 1, 1),
        # A free draft that alpha 0 leaves even.
        (CostModel({1: 0.02}, 0.0), 0, 4),
    ],
)
def test_break_even_alpha_is_0_where_every_alpha_above_it_gains(
    cost: Cost, at_zero: int, above: int
) -> None:
    assert break_even_alpha(cost, max_gamma=4) == 0
    assert best_gamma(Iid(0.0), cost, max_gamma=4) == at_zero
    assert best_gamma(Iid(1e-3), cost, max_gamma=4) == above


@pytest.mark.parametrize("cost", [CostModel({1: 1.0}, 1.0), CostModel({1: 1.0, 2: 1.5}, 0.5)])
def test_break_even_alpha_is_1_where_only_a_perfect_draft_breaks_even(cost: Cost) -> None:
    assert break_even_alpha(cost, max_gamma=4) == 1
    assert speed_up(Iid(1.0), cost, [1, 2, 3, 4]).max() == 1
    assert best_gamma(Iid(1.0), cost, max_gamma=4) == 0


def test_break_even_c_is_0_where_only_a_free_draft_breaks_even() -> None:
    # At alpha 0.5 a block of 1 emits 1.5 tokens and verifies them in 1.5.
    assert break_even_c(Iid(0.5), CostModel({1: 1.0, 2: 1.5, 3: 4.0}, 0.1), max_gamma=4) == 0
    free = CostModel({1: 1.0, 2: 1.5, 3: 4.0}, 0.0)
    assert speed_up(Iid(0.5), free, [1, 2, 3, 4]).max() == 1


@pytest.mark.parametrize("unit", [1.0, 0.02])
def test_where_every_draft_at_best_breaks_even_none_is_best_whatever_the_rounding(
    unit: float,
) -> None:
    for alpha in np.linspace(0.01, 0.99, 99).tolist():
        assert best_gamma(Iid(alpha), CostModel({1: unit}, unit * alpha), max_gamma=32) == 0


def test_gamma_shrinks_to_nothing_as_the_batch_fills_the_hardware() -> None:
    gammas = [
        best_gamma(Iid(0.7), compute_bound(batch), max_gamma=32)
        for batch in (1, 2, 4, 8, 16, 32, 64)
    ]
    assert gammas == sorted(gammas, reverse=True)
    assert gammas[0] > 10
    assert gammas[-2:] == [0, 0]


def test_a_full_machine_loses_the_waste_of_theorem_10() -> None:
    # All time is arithmetic, so the slow-down of a fixed γ is the increase in operations.
    factor = float(speed_up(Iid(0.7), compute_bound(1000), 4))
    assert factor == pytest.approx(1 / float(operations_factor(0.7, 4, 0.0)))
    assert 1 / factor == pytest.approx(1.80, abs=0.005)
