"""The oracle of Leviathan et al. 2023, §3.5."""

import numpy as np
import pytest

from simulator.choice.oracle import SUPREMUM, oracle_gain, oracle_improvement_factor
from simulator.choice.walltime import improvement_factor


@pytest.mark.parametrize(("alpha", "c"), [(0.0, 0.3), (0.5, 0.0), (0.8, 0.05), (0.9, 0.7)])
def test_the_oracle_drafts_what_will_be_accepted_and_pays_for_it(alpha: float, c: float) -> None:
    run = np.arange(2000)
    odds = (1 - alpha) * alpha**run
    factor = (odds @ (run + 1)) / (odds @ (1 + c * run))
    assert oracle_improvement_factor(alpha, c) == pytest.approx(factor, rel=1e-12)


def test_the_oracle_does_not_use_a_draft_dearer_than_the_target() -> None:
    assert oracle_improvement_factor([0.3, 0.9, 1.0], [1.0, 1.5, 4.0]).tolist() == [1, 1, 1]


def test_a_perfect_free_draft_is_unbounded() -> None:
    assert oracle_improvement_factor(1.0, 0.0) == np.inf
    assert oracle_improvement_factor(1.0, 0.25) == 4


def test_no_fixed_gamma_beats_the_oracle() -> None:
    alpha = np.linspace(0, 0.99, 34)[:, np.newaxis, np.newaxis]
    c = np.linspace(0, 1.2, 25)[:, np.newaxis]
    fixed = improvement_factor(alpha, np.arange(60), c).max(axis=-1, keepdims=True)
    assert (oracle_improvement_factor(alpha, c) >= fixed - 1e-12).all()


def test_the_gain_that_the_paper_puts_at_up_to_60_percent() -> None:
    # Within the range of its own experiments, α from .5 to .9 and c up to .05, it is 47.5 %.
    alpha, c = np.linspace(0.5, 0.9, 201)[:, np.newaxis], np.linspace(0, 0.05, 101)
    assert round(float(oracle_gain(alpha, c, max_gamma=10_000).max()), 3) == 1.475


def test_the_largest_gain_of_all_is_58_percent() -> None:
    assert pytest.approx(1.58, abs=0.005) == SUPREMUM
    alpha = 1 - np.logspace(-9, 0, 300)[:, np.newaxis]
    c = np.logspace(-10, 0.1, 500)
    gain = oracle_gain(alpha, c, max_gamma=10**12)
    assert (gain < SUPREMUM).all()
    assert (gain >= 1 - 1e-12).all()
    rest = 1e-8
    near = oracle_gain(1 - rest, rest / (np.e - 2), max_gamma=10**12)
    assert near == pytest.approx(SUPREMUM, rel=1e-7)


def test_one_of_two_lengths_next_to_the_oracles_mean_already_keeps_the_bound() -> None:
    """The step that the proof of the bound rests on, for any real 1/(1 - α)."""
    rng = np.random.default_rng(0)
    alpha = 1 - 10 ** rng.uniform(-6, 0, 20_000)
    c = np.minimum(10 ** rng.uniform(-8, 0, 20_000), 1 - 1e-9)
    shorter = np.floor(alpha / (1 - alpha))
    fixed = np.maximum(*(improvement_factor(alpha, shorter + more, c) for more in (0, 1)))
    gain = oracle_improvement_factor(alpha, c) / fixed
    assert (gain < SUPREMUM).all()
    assert gain.max() > 0.999 * SUPREMUM


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], got -0.1"):
        oracle_improvement_factor(-0.1, 0.1)
    with pytest.raises(ValueError, match="max_gamma must be at least 1, got 0"):
        oracle_gain(0.5, 0.1, max_gamma=0)
