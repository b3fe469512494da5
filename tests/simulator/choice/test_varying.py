"""Policies that stop on forecasts: closed cases, optimality, and Monte Carlo."""

import itertools

import numpy as np
import pytest

from simulator.acceptance.beta_laws import AcceptanceLaw, BetaLaw, EmpiricalLaw
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.optimum import optimal_gamma
from simulator.choice.oracle import oracle_improvement_factor
from simulator.choice.varying import (
    optimal_position_threshold,
    optimal_survival_threshold,
    position_threshold,
    survival_threshold,
)
from simulator.choice.walltime import improvement_factor
from simulator.monte_carlo.monte_carlo import simulate_policy

PAIRS = [(0.8, 0.05), (0.6, 0.02), (0.95, 0.1), (0.5, 0.15), (0.3, 0.4), (0.999, 0.001)]


@pytest.mark.parametrize(("alpha", "c"), PAIRS)
def test_without_information_the_best_policy_is_the_best_fixed_gamma(
    alpha: float, c: float
) -> None:
    gamma = optimal_gamma(alpha, c, max_gamma=100)
    expected = improvement_factor(alpha, gamma, c)
    policy = optimal_survival_threshold(EmpiricalLaw([alpha]), c=c, max_gamma=100)
    # Only at α = 0.999 do neighbouring powers share a bin.
    tolerance = 1e-12 if alpha < 0.99 else 1e-4
    assert policy.improvement_factor(c) == pytest.approx(expected, rel=tolerance)
    if alpha < 0.99:
        assert policy.expected_drafted == pytest.approx(gamma)
    single = optimal_position_threshold(EmpiricalLaw([alpha]), c=c, max_gamma=100)
    assert single.improvement_factor(c) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("alpha", "c"), PAIRS[:5])
def test_with_all_information_the_best_policy_is_the_oracle(alpha: float, c: float) -> None:
    law = EmpiricalLaw([0.0, 1.0], [1 - alpha, alpha])
    policy = optimal_survival_threshold(law, c=c, max_gamma=1000)
    assert policy.improvement_factor(c) == pytest.approx(oracle_improvement_factor(alpha, c))


@pytest.mark.parametrize(("alpha", "c"), PAIRS[:4])
@pytest.mark.parametrize("concentration", [0.3, 2.0, 20.0])
def test_more_information_is_never_worse(alpha: float, c: float, concentration: float) -> None:
    law = BetaLaw.from_mean(alpha, concentration=concentration)
    fixed = improvement_factor(alpha, optimal_gamma(alpha, c, max_gamma=64), c)
    single = optimal_position_threshold(law, c=c, max_gamma=64).improvement_factor(c)
    best = optimal_survival_threshold(law, c=c, max_gamma=64).improvement_factor(c)
    assert fixed <= single * (1 + 1e-12)
    assert single <= best * (1 + 1e-5)
    assert best <= oracle_improvement_factor(alpha, c)


def test_no_stopping_rule_beats_the_optimal_one() -> None:
    # Every rule on a three-valued forecast, three positions deep: whether to draft after each
    # sequence of forecasts seen, by exhaustive search of sets closed under prefixes.
    values, weights, c = np.array([0.2, 0.6, 1.0]), np.array([0.3, 0.3, 0.4]), 0.3
    paths = [p for n in (1, 2, 3) for p in itertools.product(range(3), repeat=n)]
    odds = {p: np.prod(weights[list(p)]) for p in paths}
    gain = {p: odds[p] * np.prod(values[list(p)]) for p in paths}

    def best_pair(prefix: tuple[int, ...], rate: float) -> tuple[float, float]:
        """Tokens and drafts of the best subtree for a given price of a draft."""
        tokens = drafts = 0.0
        for child in ((*prefix, i) for i in range(3)):
            if len(child) > 3:
                return 0.0, 0.0
            later = best_pair(child, rate)
            total = gain[child] + later[0], odds[child] + later[1]
            if total[0] - rate * c * total[1] > 0:
                tokens, drafts = tokens + total[0], drafts + total[1]
        return tokens, drafts

    rate = 1.0
    for _ in range(30):
        tokens, drafts = best_pair((), rate)
        rate = (1 + tokens) / (1 + c * drafts)
    policy = optimal_survival_threshold(EmpiricalLaw(values, weights), c=c, max_gamma=3)
    assert policy.improvement_factor(c) == pytest.approx(rate, rel=1e-12)
    assert policy.threshold == pytest.approx(c * rate, rel=1e-12)
    assert rate > improvement_factor(0.64, optimal_gamma(0.64, c, max_gamma=3), c)


@pytest.mark.parametrize("a", [0.5, 1.0, 4.0])
def test_products_of_powers_of_uniforms_form_a_poisson_process(a: float) -> None:
    # -log of a Beta(a, 1) variable is exponential with rate a, so drafts up to -log θ are Poisson.
    threshold = 0.1
    policy = survival_threshold(BetaLaw(a, 1.0), threshold=threshold, gamma=100)
    assert policy.expected_drafted == pytest.approx(-a * np.log(threshold), rel=1e-4)
    assert policy.expected_tokens == pytest.approx(1 + a * (1 - threshold), rel=2e-5)


def test_threshold_zero_is_a_fixed_gamma() -> None:
    law = BetaLaw(2.0, 1.0)
    for policy in (
        position_threshold(law, threshold=0, gamma=6),
        survival_threshold(law, threshold=0, gamma=6),
    ):
        assert policy.expected_drafted == pytest.approx(6)
        assert policy.expected_tokens == pytest.approx(expected_tokens(2 / 3, 6))
    tiny = survival_threshold(law, threshold=1e-30, gamma=6)
    assert tiny.expected_tokens == pytest.approx(expected_tokens(2 / 3, 6), rel=1e-5)


def test_threshold_one_drafts_on_certainty_alone() -> None:
    policy = survival_threshold(EmpiricalLaw([0.5, 1.0], [0.25, 0.75]), threshold=1, gamma=3)
    assert policy.expected_drafted == pytest.approx(0.75 + 0.75**2 + 0.75**3)
    assert policy.expected_tokens == pytest.approx(1 + 0.75 + 0.75**2 + 0.75**3)
    doubtful = survival_threshold(BetaLaw(2.0, 1.0), threshold=1, gamma=3)
    assert (doubtful.expected_tokens, doubtful.expected_drafted) == (1, 0)


def test_gamma_zero_drafts_nothing() -> None:
    law = BetaLaw(2.0, 1.0)
    for threshold in (0.0, 0.3):
        policy = survival_threshold(law, threshold=threshold, gamma=0)
        assert (policy.expected_tokens, policy.expected_drafted) == (1, 0)


def test_costs_at_the_ends() -> None:
    law = BetaLaw(2.0, 1.0)
    free = optimal_survival_threshold(law, c=0, max_gamma=10)
    assert free.improvement_factor(0) == pytest.approx(expected_tokens(2 / 3, 10))
    for c in (1.0, 3.0):
        policy = optimal_survival_threshold(law, c=c, max_gamma=10)
        assert policy.expected_drafted == 0
        assert policy.improvement_factor(c) == 1


LAWS: list[AcceptanceLaw] = [
    BetaLaw(2.0, 1.0),
    BetaLaw.from_mean(0.8, concentration=0.5),
    EmpiricalLaw([0.3, 0.9, 1.0], [0.2, 0.5, 0.3]),
]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("single", "product"), [(0.5, 0.0), (0.0, 0.25)])
def test_monte_carlo_agrees(law: AcceptanceLaw, single: float, product: float) -> None:
    # Three means of 300,000 blocks, within 5 standard errors: each false-alarms once in 1.7
    # million; 18 of them in all.
    if product > 0:
        policy = survival_threshold(law, threshold=product, gamma=8)
    else:
        policy = position_threshold(law, threshold=single, gamma=8)
    drawn = simulate_policy(
        law,
        8,
        position_threshold=single,
        survival_threshold=product,
        blocks=300_000,
        generator=np.random.default_rng(13),
    )
    assert abs(drawn.mean_tokens - policy.expected_tokens) < 5 * drawn.mean_tokens_error
    assert abs(drawn.mean_drafted - policy.expected_drafted) < 5 * drawn.mean_drafted_error
    error = drawn.improvement_error(0.1)
    assert abs(drawn.improvement_factor(0.1) - policy.improvement_factor(0.1)) < 5 * error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.5, "gamma": 3}, r"threshold must lie in \[0, 1\], got 1.5"),
        ({"threshold": 0.5, "gamma": -1}, "gamma must be at least 0, got -1"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, float], message: str) -> None:
    for function in (position_threshold, survival_threshold):
        with pytest.raises(ValueError, match=message):
            function(BetaLaw(2.0, 1.0), **options)  # type: ignore[arg-type]


def test_bad_costs_are_refused() -> None:
    for function in (optimal_position_threshold, optimal_survival_threshold):
        with pytest.raises(ValueError, match=r"c must be finite and at least 0, got -1.0"):
            function(BetaLaw(2.0, 1.0), c=-1, max_gamma=3)
        with pytest.raises(ValueError, match="max_gamma must be at least 1, got 0"):
            function(BetaLaw(2.0, 1.0), c=0.1, max_gamma=0)
