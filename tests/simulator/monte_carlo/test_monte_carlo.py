"""The simulated process against each closed form, within its standard error.

Limits are 5 standard errors: a correct implementation exceeds one of them for one seed in 1.7
million; there are about 60 of them here, so once in 29,000 seeds. Chi-squared tests state theirs.
"""

from fractions import Fraction

import numpy as np
import pytest

from simulator.acceptance.beta_laws import AcceptanceLaw, BetaLaw, EmpiricalLaw
from simulator.acceptance.conversions import accepted_fraction, alpha_from_accepted_fraction
from simulator.acceptance.replay import expected_calls, expected_drafted
from simulator.acceptance.tokens import expected_tokens, tokens_distribution
from simulator.choice.oracle import oracle_improvement_factor
from simulator.choice.walltime import improvement_factor
from simulator.cost.ratio import Ratio
from simulator.monte_carlo.finite import finite_calls, finite_improvement_factor
from simulator.monte_carlo.monte_carlo import (
    BlockCounts,
    simulate_blocks,
    simulate_policy,
    simulate_texts,
    sticky_betas,
)

LAWS: list[AcceptanceLaw] = [
    EmpiricalLaw([0.8]),
    EmpiricalLaw([0.0, 1.0], [0.4, 0.6]),
    BetaLaw.from_mean(0.7, concentration=1.5),
    BetaLaw.from_mean(0.95, concentration=30),
]
BLOCKS = 300_000


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("gamma", [1, 4, 9])
def test_blocks_agree_with_eq_1_theorem_8_and_the_law_of_tau(
    law: AcceptanceLaw, gamma: int
) -> None:
    generator = np.random.default_rng([31, gamma])
    drawn = simulate_blocks(law, gamma, blocks=BLOCKS, generator=generator)
    assert drawn.blocks == BLOCKS
    assert drawn.mean_drafted == gamma
    assert drawn.mean_drafted_error == 0
    expected = expected_tokens(law.mean, gamma)
    assert abs(drawn.mean_tokens - expected) < 5 * drawn.mean_tokens_error
    factor = improvement_factor(law.mean, gamma, 0.05)
    assert abs(drawn.improvement_factor(0.05) - factor) < 5 * drawn.improvement_error(0.05)
    fraction = accepted_fraction(law.mean, gamma)
    assert abs(drawn.accepted_fraction - fraction) < 5 * drawn.mean_tokens_error / gamma
    odds = tokens_distribution(law.mean, gamma)
    assert drawn.tokens_distribution.shape == odds.shape
    expected_counts = BLOCKS * odds
    chi_squared = (
        (BLOCKS * drawn.tokens_distribution - expected_counts) ** 2 / expected_counts
    ).sum()
    # γ degrees of freedom; the limit's tail is 1e-6.
    from scipy.stats import chi2

    assert chi_squared < chi2.isf(1e-6, gamma)


def test_the_standard_error_is_that_of_repeated_runs() -> None:
    # 400 runs: the spread of their means has a relative error of 3.5 %, so 20 % is over 5 of them.
    generator = np.random.default_rng(32)
    law = BetaLaw.from_mean(0.7, concentration=1.5)
    runs = [
        simulate_policy(
            law,
            6,
            position_threshold=0.5,
            survival_threshold=0.0,
            blocks=500,
            generator=generator,
        )
        for _ in range(400)
    ]
    for values, errors in (
        ([r.mean_tokens for r in runs], [r.mean_tokens_error for r in runs]),
        ([r.mean_drafted for r in runs], [r.mean_drafted_error for r in runs]),
        ([r.improvement_factor(0.2) for r in runs], [r.improvement_error(0.2) for r in runs]),
    ):
        assert np.std(values) == pytest.approx(np.mean(errors), rel=0.2)


def test_means_are_quotients_of_exact_sums() -> None:
    # Shares that are multiplied and added miss the nearest float to the mean, by a last bit that
    # differs from one processor to another, in about half of these tables.
    generator = np.random.default_rng(42)
    for _ in range(200):
        table = BlockCounts(generator.integers(0, 100_000, (10, 11)))
        blocks = int(table.counts.sum())
        tokens = sum(t * int(n) for (_, t), n in np.ndenumerate(table.counts))
        drafted = sum(d * int(n) for (d, _), n in np.ndenumerate(table.counts))
        assert table.blocks == blocks
        assert table.mean_tokens == float(Fraction(tokens, blocks))
        assert table.mean_drafted == float(Fraction(drafted, blocks))
        assert table.accepted_fraction == float(Fraction(tokens - blocks, drafted))


@pytest.mark.parametrize("gamma", range(1, 30))
def test_what_never_varies_has_its_exact_mean_and_no_error(gamma: int) -> None:
    counts = np.zeros((gamma + 1, gamma + 2), dtype=np.int64)
    counts[gamma, 1:] = np.random.default_rng([43, gamma]).integers(0, 100_000, gamma + 1)
    table = BlockCounts(counts)
    assert table.mean_drafted == gamma
    assert table.mean_drafted_error == 0


def test_a_policy_without_thresholds_is_a_fixed_gamma() -> None:
    law = BetaLaw.from_mean(0.7, concentration=1.5)
    drawn = simulate_policy(
        law,
        5,
        position_threshold=0,
        survival_threshold=0,
        blocks=BLOCKS,
        generator=np.random.default_rng(33),
    )
    assert drawn.mean_drafted == 5
    assert abs(drawn.mean_tokens - expected_tokens(0.7, 5)) < 5 * drawn.mean_tokens_error


def test_a_policy_that_knows_acceptances_is_the_oracle() -> None:
    drawn = simulate_policy(
        EmpiricalLaw([0.0, 1.0], [0.3, 0.7]),
        60,
        position_threshold=0.5,
        survival_threshold=0.5,
        blocks=BLOCKS,
        generator=np.random.default_rng(34),
    )
    factor = oracle_improvement_factor(0.7, 0.1)
    assert abs(drawn.improvement_factor(0.1) - factor) < 5 * drawn.improvement_error(0.1)
    assert drawn.accepted_fraction == 1


@pytest.mark.parametrize("length", [1, 2, 5, 30])
@pytest.mark.parametrize("gamma", [0, 1, 4])
def test_texts_agree_with_the_finite_forms(length: int, gamma: int) -> None:
    law = BetaLaw.from_mean(0.7, concentration=2)
    drawn = simulate_texts(
        law, gamma, length=length, texts=20_000, generator=np.random.default_rng([35, length])
    )
    calls = finite_calls(0.7, gamma, length=length)
    error = drawn.calls.std() / np.sqrt(20_000)
    assert abs(drawn.calls.mean() - calls) <= 5 * error + 1e-12
    cost = Ratio(0.1)
    seconds = drawn.calls + 0.1 * drawn.drafted
    factor = finite_improvement_factor(0.7, gamma, cost=cost, length=length)
    error = seconds.std() / np.sqrt(20_000)
    assert abs(seconds.mean() - length / factor) <= 5 * error + 1e-12


def test_one_text_of_certain_acceptances_is_counted_exactly() -> None:
    generator = np.random.default_rng(36)
    drawn = simulate_texts(EmpiricalLaw([1.0]), 3, length=10, texts=2, generator=generator)
    assert drawn.calls.tolist() == [3, 3]
    assert drawn.drafted.tolist() == [3 + 3 + 1] * 2


def test_sticky_paths_keep_the_law_of_each_position() -> None:
    law = BetaLaw.from_mean(0.6, concentration=2)
    betas = sticky_betas(
        law, persistence=0.9, positions=200_000, generator=np.random.default_rng(37)
    )
    assert betas.shape == (200_000,)
    # Neighbours correlate by the persistence, so errors are those of 19 times fewer draws.
    error = betas.std() * np.sqrt(19 / 200_000)
    assert abs(betas.mean() - 0.6) < 5 * error
    correlation = np.corrcoef(betas[1:], betas[:-1])[0, 1]
    assert correlation == pytest.approx(0.9, abs=0.01)
    assert np.mean(betas[1:] == betas[:-1]) == pytest.approx(0.9, abs=0.005)


def test_without_persistence_replay_of_a_path_is_eq_1() -> None:
    law = BetaLaw.from_mean(0.62, concentration=2)
    betas = sticky_betas(
        law, persistence=0, positions=200_000, generator=np.random.default_rng(38)
    )
    # The path's own mean is 0.62 within 0.003, and E[τ] moves less than 3 times as much.
    efficiency = 200_000 / expected_calls(betas, 4)
    assert efficiency == pytest.approx(expected_tokens(0.62, 4), abs=0.01)


def test_with_sticky_betas_what_counts_give_is_below_alpha() -> None:
    # A block begins where the one before was rejected, so at low β: an alpha_iid of accepted over
    # drafted tokens is biased, by more the longer the runs, and no closed form says how much.
    law = BetaLaw.from_mean(0.62, concentration=2)
    inferred = []
    for persistence in (0.0, 0.6, 0.9):
        betas = sticky_betas(
            law, persistence=persistence, positions=200_000, generator=np.random.default_rng(39)
        )
        accepted = 200_000 - expected_calls(betas, 2)
        fraction = accepted / expected_drafted(betas, 2)
        inferred.append(float(alpha_from_accepted_fraction(fraction, 2)))
    assert inferred[0] == pytest.approx(0.62, abs=0.005)
    assert inferred[2] < inferred[1] < 0.61


def test_the_same_seed_gives_the_same_counts() -> None:
    law = BetaLaw(2.0, 1.0)
    first, second = (
        simulate_blocks(law, 4, blocks=40_000, generator=np.random.default_rng(40))
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.counts, second.counts)


def test_nothing_drafted_has_no_accepted_fraction() -> None:
    drawn = simulate_blocks(BetaLaw(2.0, 1.0), 0, blocks=9, generator=np.random.default_rng(41))
    assert drawn.mean_tokens == 1
    assert np.isnan(drawn.accepted_fraction)


def test_bad_arguments_are_refused() -> None:
    law, generator = BetaLaw(2.0, 1.0), np.random.default_rng(0)
    with pytest.raises(ValueError, match="blocks must be at least 1, got 0"):
        simulate_blocks(law, 3, blocks=0, generator=generator)
    with pytest.raises(ValueError, match="gamma must be at least 0, got -1"):
        simulate_blocks(law, -1, blocks=9, generator=generator)
    with pytest.raises(ValueError, match=r"survival_threshold must lie in \[0, 1\], got 2.0"):
        simulate_policy(
            law, 3, position_threshold=0, survival_threshold=2, blocks=9, generator=generator
        )
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        simulate_texts(law, 3, length=0, texts=9, generator=generator)
    with pytest.raises(ValueError, match=r"persistence must lie in \[0, 1\], got -0.5"):
        sticky_betas(law, persistence=-0.5, positions=9, generator=generator)
