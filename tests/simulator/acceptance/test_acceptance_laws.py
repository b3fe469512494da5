"""Laws of β: tails, atoms and draws of one law agree with each other."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from simulator.acceptance.beta_laws import AcceptanceLaw, BetaLaw, EmpiricalLaw, merge

SAMPLE = np.random.default_rng(11).beta(2, 1, 5000)
LAWS: list[AcceptanceLaw] = [
    BetaLaw(2.0, 1.0),
    BetaLaw(0.3, 0.7),
    BetaLaw.from_mean(0.8, concentration=5),
    BetaLaw.from_mean(0.9, concentration=1e5),
    EmpiricalLaw([0.7]),
    EmpiricalLaw([0.0, 1.0], [0.2, 0.8]),
    EmpiricalLaw([0.5, 0.1, 0.5, 1.0]),
    EmpiricalLaw(SAMPLE),
]


@pytest.mark.parametrize("law", LAWS)
def test_tails_at_the_ends(law: AcceptanceLaw) -> None:
    assert law.survival([0.0, 1.1]) == pytest.approx([1, 0], abs=1e-12)
    assert law.partial_mean([0.0, 1.1]) == pytest.approx([law.mean, 0], abs=1e-12)
    threshold = np.linspace(0, 1, 41)
    assert (np.diff(law.survival(threshold)) <= 1e-15).all()
    assert (law.partial_mean(threshold) <= law.survival(threshold) + 1e-12).all()


@pytest.mark.parametrize("law", LAWS)
def test_atoms_have_the_laws_mean_and_nearly_its_variance(law: AcceptanceLaw) -> None:
    values, weights = law.atoms()
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert (values >= 0).all()
    assert (values <= 1).all()
    assert values @ weights == pytest.approx(law.mean, rel=1e-12)
    # E[β²] = ∫ 2x P(β ≥ x) dx
    x = (np.arange(20_000) + 0.5) / 20_000
    second = (2 * x * law.survival(x)).mean()
    assert np.square(values) @ weights == pytest.approx(second, abs=2e-5)


@pytest.mark.parametrize("law", LAWS)
def test_draws_follow_the_law(law: AcceptanceLaw) -> None:
    # Means over 200,000 draws of three functions; 5 standard errors are exceeded once in 1.7
    # million draws, here 24 times that.
    drawn = law.sample(np.random.default_rng(12), 200_000)
    assert drawn.shape == (200_000,)
    for threshold in (0.0, 0.4, 0.75):
        counted = np.where(drawn >= threshold, drawn, 0.0)
        error = counted.std() / np.sqrt(200_000)
        expected = float(law.partial_mean(threshold))
        assert abs(counted.mean() - expected) <= 5 * error + 1e-9


def test_a_beta_law_of_given_mean() -> None:
    law = BetaLaw.from_mean(0.62, concentration=3)
    assert law.mean == pytest.approx(0.62)
    values, weights = law.atoms()
    assert np.square(values - 0.62) @ weights == pytest.approx(0.62 * 0.38 / 4, rel=1e-12)


def test_gauss_nodes_are_those_of_scipy() -> None:
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(48, 1.5 - 1, 4.0 - 1)
    values, masses = BetaLaw(4.0, 1.5).atoms()
    assert values == pytest.approx((1 + nodes) / 2, abs=1e-13)
    assert masses == pytest.approx(weights / weights.sum(), rel=1e-9, abs=1e-15)


def test_equal_values_are_one_atom_and_weights_need_no_scale() -> None:
    values, weights = EmpiricalLaw([0.5, 0.2, 0.5], [3, 2, 5]).atoms()
    assert values.tolist() == [0.2, 0.5]
    assert weights.tolist() == [0.2, 0.8]
    assert EmpiricalLaw([0.2, 0.5, 0.5]).survival([0.2, 0.3, 0.5, 0.6]) == pytest.approx(
        [1, 2 / 3, 2 / 3, 0]
    )


def test_the_mean_of_equal_values_is_that_value_whatever_the_weights() -> None:
    # Weights that add up to 1 but for the last bit must not take a mean beyond 1.
    generator = np.random.default_rng(12)
    for value in (1.0, 0.3):
        laws = [EmpiricalLaw(np.full(9, value), generator.random(9)) for _ in range(100)]
        assert {law.mean for law in laws} == {value}


def test_merging_keeps_mass_and_mean() -> None:
    values, weights = merge(np.array([3, 0, 3]), np.array([0.2, 0.9, 0.6]), np.array([1.0, 2, 3]))
    assert values == pytest.approx([0.9, 0.5])
    assert weights == pytest.approx([2, 4])


@pytest.mark.parametrize(
    ("values", "weights", "message"),
    [
        ([], None, r"not empty, got shapes \(0,\) and \(0,\)"),
        ([0.5, 1.5], None, r"values must lie in \[0, 1\], got 1.5"),
        ([0.5, 0.6], [1.0], r"got shapes \(2,\) and \(1,\)"),
        ([0.5, 0.6], [0, 0], "weights must not all be 0"),
        ([0.5, 0.6], [1, -1], "weights must be finite and at least 0, got -1.0"),
    ],
)
def test_bad_samples_are_refused(
    values: ArrayLike, weights: ArrayLike | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        EmpiricalLaw(values, weights)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="b must be above 0, got 0"):
        BetaLaw(1.0, 0.0)
    with pytest.raises(ValueError, match="a must be finite and at least 0, got -1"):
        BetaLaw(-1.0, 2.0)
    with pytest.raises(ValueError, match="b must be above 0, got 0"):
        BetaLaw.from_mean(1.0, concentration=3)
