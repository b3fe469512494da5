"""Which γ to run and which to try next, where speed-ups are in doubt."""

import numpy as np
import pytest

from simulator.choice.advice import NEAR, WORTH, advise

GAMMAS = np.array([1, 3, 5])


def diagonal(*deviations: float) -> np.ndarray:
    return np.diag(np.square(deviations))


def test_without_doubt_the_advice_is_the_best_gamma_and_no_run() -> None:
    advice = advise(GAMMAS, np.log([1.2, 1.5, 1.4]), np.zeros((3, 3)), tried=[1, 3, 5])
    assert (advice.gamma, advice.best, advice.certain, advice.next_run) == (3, 3, True, None)


def test_the_smallest_gamma_within_the_doubt_and_one_percent_is_advised() -> None:
    mean = np.log([1.49, 1.5, 1.5001])
    assert advise(GAMMAS, mean, diagonal(0.02, 0.02, 0.02)).gamma == 1
    # Surely worse, by however little.
    assert advise(GAMMAS, mean, diagonal(1e-6, 1e-6, 1e-6)).gamma == 5
    # Perhaps as good, but on average further behind than what may be lost.
    behind = np.log(1.5) - NEAR - 0.001
    assert advise(GAMMAS, np.array([behind, np.log(1.5), 0.0]), diagonal(0.1, 0.1, 0.1)).gamma == 3


def test_what_gammas_share_does_not_blur_their_order() -> None:
    shared = 0.04 * np.ones((3, 3)) + diagonal(1e-6, 1e-6, 1e-6)
    advice = advise(GAMMAS, np.log([1.9, 2.0, 1.95]), shared)
    assert advice.gamma == 3
    assert advice.certain


def test_where_no_gain_is_certain_the_likely_one_is_advised_with_a_run() -> None:
    advice = advise(GAMMAS, np.log([1.0, 1.1, 1.05]), diagonal(0.2, 0.2, 0.2))
    assert (advice.gamma, advice.best, advice.certain) == (3, 3, False)
    assert advice.next_run is not None
    assert advice.next_run.gamma == 3
    # The model's own error counts, too.
    assert advise(GAMMAS, np.log([1.0, 1.1, 1.05]), diagonal(0.01, 0.01, 0.01)).certain
    assert not advise(
        GAMMAS, np.log([1.0, 1.1, 1.05]), diagonal(0.01, 0.01, 0.01), error=0.1
    ).certain


def test_where_a_loss_is_likelier_than_a_gain_nothing_is_advised() -> None:
    advice = advise(GAMMAS, np.log([0.9, 0.99, 0.7]), diagonal(0.3, 0.3, 0.3))
    assert (advice.gamma, advice.best, advice.certain) == (0, 0, False)
    assert advice.next_run is not None


def test_a_loss_that_is_certain_means_not_to_speculate() -> None:
    advice = advise(GAMMAS, np.log([0.9, 0.8, 0.7]), diagonal(0.01, 0.01, 0.01), tried=[1])
    assert (advice.gamma, advice.best, advice.next_run) == (0, 0, None)


def test_the_next_run_is_the_one_whose_outcome_would_decide() -> None:
    """γ 3 was run; γ 1 is surely worse, γ 5 may be better."""
    mean, doubt = np.log([1.2, 1.5, 1.48]), diagonal(0.01, 0.01, 0.1)
    advice = advise(GAMMAS, mean, doubt, tried=[3])
    assert advice.next_run is not None
    assert (advice.next_run.gamma, advice.next_run.rival) == (5, 3)
    # E max(m + s·Z, best) - best, of a normal law (closed form).
    deviation = 0.01 / np.sqrt(0.01 + 1e-4)
    behind = np.log(1.5 / 1.48) / deviation
    density = np.exp(-(behind**2) / 2) / np.sqrt(2 * np.pi)
    from scipy.special import ndtr

    expected = deviation * (density - behind * ndtr(-behind))
    assert advice.next_run.gain == pytest.approx(expected, rel=0.02)
    assert advice.next_run.gain > WORTH


def test_nothing_is_tried_twice() -> None:
    advice = advise(GAMMAS, np.log([1.2, 1.5, 1.5]), diagonal(0.1, 0.1, 0.1), tried=[1, 3, 5])
    assert advice.next_run is None


def test_shapes_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="mean and covariance must be of 3 gammas"):
        advise(GAMMAS, np.zeros(2), np.zeros((3, 3)))
