"""Which γ to run and which to try next, where speed-ups are in doubt."""

import numpy as np
import pytest

from simulator.choice.advice import REPEAT, THRESHOLD, UNDECIDED, WORTH, Advice, advise
from simulator.choice.odds import OPEN, certainty
from simulator.numerics.intervals import Forecast

GAMMAS = np.array([1, 3, 5])


def law(
    *speed_ups: float, deviation: float | tuple[float, ...] = 0.0, shared: float = 0.0
) -> Forecast:
    """Returns the law of some speed-ups: independent doubts, and one that all share."""
    own = np.diag(np.square(np.broadcast_to(deviation, len(speed_ups))))
    return Forecast.normal(np.log(speed_ups), own + shared**2)


def odds(probability: float, *, calibrated: bool = True) -> Advice:
    """Returns the advice where one γ gains with that probability."""
    from scipy.special import ndtri

    doubt = Forecast.normal(np.array([0.2 * ndtri(probability)]), np.array([[0.04]]))
    return advise(np.array([3]), doubt, calibrated=calibrated, near=-1.0)


def next_run(gammas: np.ndarray, doubt: Forecast, *, tried: list[int]) -> tuple[int, int]:
    """Returns the γ of the run to make next, and its rival."""
    following = advise(gammas, doubt, tried=tried).next_run
    assert following is not None
    return following.gamma, following.rival


def test_without_doubt_the_advice_is_the_best_gamma_and_no_probability() -> None:
    advice = advise(GAMMAS, law(1.2, 1.5, 1.4), tried=[0, 1, 3, 5])
    assert (advice.gamma, advice.named, advice.best, advice.certain) == (3, 3, 3, True)
    assert (advice.gain_probability, advice.next_run, advice.test_gamma) == (None, None, None)
    assert advise(GAMMAS, law(0.9, 0.8, 0.7)).gamma == 0


def test_the_smallest_gamma_within_one_percent_of_the_largest_median_is_advised() -> None:
    assert advise(GAMMAS, law(1.486, 1.5, 1.5001, deviation=0.2)).gamma == 1
    assert advise(GAMMAS, law(1.484, 1.5, 1.5001, deviation=0.2)).gamma == 3
    # A mean of the speed-up itself would reward the widest doubt.
    assert advise(GAMMAS, law(1.5, 1.4, 1.3, deviation=(0.1, 0.1, 0.9))).gamma == 1


def test_a_gain_below_one_percent_is_not_worth_a_draft() -> None:
    assert advise(GAMMAS, law(1.0, 1.008, 0.9)).gamma == 0
    assert advise(GAMMAS, law(1.0, 1.008, 0.9), near=0.0).gamma == 3


def test_doubt_that_all_share_changes_neither_order_nor_advice() -> None:
    for shared in (0.01, 0.2, 1.0, 3.0):
        advice = advise(GAMMAS, law(1.9, 2.0, 1.95, shared=shared))
        assert (advice.gamma, advice.best) == (3, 3)
    assert not advice.certain


@pytest.mark.parametrize("shift", [-1e-6, 1e-6])
def test_the_threshold_decides_between_a_draft_and_none(shift: float) -> None:
    advice = odds(THRESHOLD + shift)
    assert advice.gamma == (3 if shift > 0 else 0)
    assert advice.gain_probability == pytest.approx(THRESHOLD + shift)
    assert advice.named == 3


@pytest.mark.parametrize(
    ("probability", "gamma", "test"),
    [
        (0.001, 0, None),
        (OPEN - 1e-6, 0, None),
        (OPEN + 1e-6, 0, 3),
        (0.76, 0, 3),
        (UNDECIDED - 1e-6, 0, 3),
        (UNDECIDED + 1e-6, 3, None),
    ],
)
def test_a_kind_that_is_not_calibrated_is_undecided_within_its_limits(
    probability: float, gamma: int, test: int | None
) -> None:
    advice = odds(probability, calibrated=False)
    assert (advice.gamma, advice.test_gamma) == (gamma, test)
    assert odds(probability).test_gamma is None


def test_almost_certain_is_an_interval_above_one() -> None:
    for speed_up in (1.05, 1.3, 1.38, 1.4, 1.6):
        advice = advise(np.array([3]), law(speed_up, deviation=0.2))
        assert advice.gain_probability is not None
        assert (certainty(advice.gain_probability) == "almost certain") == advice.certain


def test_a_measured_gain_stays() -> None:
    """K = 3 was run and gains; K = 1 was not, and its median is 0.9 % higher."""
    doubtful = law(1.10, 1.09, 0.9, deviation=(0.1, 0.03, 0.1))
    advice = advise(GAMMAS, doubtful, tried=[0, 3])
    assert (advice.gamma, advice.measured) == (3, True)
    assert advise(GAMMAS, doubtful, tried=[0]).gamma == 1
    # A gain within the doubt of its runs is none, and without a baseline none was measured.
    assert not advise(GAMMAS, law(1.10, 1.02, 0.9, deviation=0.03), tried=[0, 3]).measured
    assert not advise(GAMMAS, doubtful, tried=[3]).measured
    # It is not undecided, for any kind of draft.
    assert advise(GAMMAS, doubtful, calibrated=False, tried=[0, 3]).gamma == 3


def test_a_gain_within_its_error_was_not_measured() -> None:
    speed_ups = law(1.04, 1.045, 1.0, deviation=0.1)
    advice = advise(GAMMAS, speed_ups, tried=[0, 3])
    assert (advice.named, advice.measured) == (1, False)
    assert advise(GAMMAS, speed_ups, tried=[0, 3], calibrated=False).undecided
    exact = advise(GAMMAS, law(1.04, 1.045, 1.0, deviation=0.02), tried=[0, 3])
    assert (exact.named, exact.measured) == (3, True)


def test_a_gamma_that_is_likely_faster_than_a_measured_gain_is_advised_and_the_next_run() -> None:
    """γ 5 promises more in its wide doubt, but the advised γ is the one to run."""
    advice = advise(GAMMAS, law(1.1, 1.2, 1.19, deviation=(0.01, 0.05, 0.3)), tried=[0, 1])
    assert (advice.gamma, advice.named, advice.best, advice.measured) == (3, 3, 3, False)
    assert advice.next_run is not None
    assert (advice.next_run.gamma, advice.next_run.rival) == (3, 1)
    assert 0 < advice.next_run.gain < 0.05


def test_an_advised_gamma_is_run_even_if_the_run_gains_nothing() -> None:
    following = advise(GAMMAS, law(1.2, 1.8, 1.3, deviation=1e-3), tried=[0, 1]).next_run
    assert following is not None
    assert (following.gamma, following.rival) == (3, 1)
    assert following.gain == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("faster", "gamma", "measured"), [(0.99, 1, True), (1.01, 3, False)])
def test_a_measured_gain_gives_way_to_a_gamma_that_is_faster_by_more_than_near(
    faster: float, gamma: int, measured: bool
) -> None:
    near = 0.02
    law_of_runs = Forecast.normal(np.array([0.2, 0.2 - faster * np.log(1 - near), 0.0]), np.eye(3))
    sure = Forecast.normal(law_of_runs.medians, 1e-4 * np.eye(3))
    advice = advise(GAMMAS, sure, near=near, tried=[0, 1])
    assert (advice.gamma, advice.measured) == (gamma, measured)


def test_of_several_measured_gains_the_best_stays() -> None:
    law_of_runs = law(1.1, 1.35, 1.36, deviation=0.02)
    assert advise(GAMMAS, law_of_runs, tried=[0, 1, 3, 5]).gamma == 3


def test_without_a_baseline_the_next_run_is_the_baseline() -> None:
    for tried in ([], [3], [3, 5]):
        assert next_run(GAMMAS, law(1.2, 1.5, 1.4, deviation=0.2), tried=tried) == (0, 3)


def test_the_next_run_is_at_most_two_longer_or_twice_as_long_as_earlier_runs() -> None:
    """It is the γ of the widest doubt within the limit; no γ is faster than what was run."""
    gammas = np.arange(1, 33)
    for longest, most in ((1, 3), (3, 6), (5, 10)):
        doubt = np.where(gammas == longest, 1e-3, 0.02 * gammas)
        wide = Forecast.normal(np.log(np.full(32, 1.5)), np.diag(doubt**2))
        assert next_run(gammas, wide, tried=[0, longest]) == (most, longest)


def test_the_next_run_is_the_deciding_one() -> None:
    """γ 3 was run; γ 1 is surely worse, γ 5 may be better."""
    advice = advise(GAMMAS, law(1.2, 1.5, 1.48, deviation=(0.01, 0.01, 0.1)), tried=[0, 3])
    assert advice.next_run is not None
    assert (advice.next_run.gamma, advice.next_run.rival) == (5, 3)
    # E max(m + s·Z, best) - best, of a normal law (closed form); a step within `near` stays.
    deviation = 0.01 / np.sqrt(0.01 + 1e-4)
    behind = np.log(1.5 / 1.48) / deviation
    density = np.exp(-(behind**2) / 2) / np.sqrt(2 * np.pi)
    from scipy.special import ndtr

    expected = deviation * (density - behind * ndtr(-behind))
    assert advice.next_run.gain == pytest.approx(expected, abs=0.006)
    assert advice.next_run.gain > WORTH


def test_a_run_that_decides_between_a_draft_and_none_names_none_as_the_rival() -> None:
    assert next_run(GAMMAS, law(0.6, 1.05, 0.7, deviation=0.2), tried=[0]) == (3, 0)


def test_a_run_that_is_expected_to_bring_nothing_is_not_proposed() -> None:
    assert advise(GAMMAS, law(1.2, 1.5, 1.5, deviation=0.1), tried=[0, 1, 3, 5]).next_run is None
    assert advise(GAMMAS, law(1.2, 1.8, 1.3, deviation=0.01), tried=[0, 3]).next_run is None
    assert advise(GAMMAS, law(0.9, 0.8, 0.7, deviation=0.01), tried=[0, 1]).next_run is None
    # Numbers that are stated leave nothing to run.
    assert advise(GAMMAS, law(1.2, 1.5, 1.5, deviation=0.5)).next_run is None


def test_a_run_of_the_advised_gamma_is_worth_the_longer_ones_that_it_lets_us_advise() -> None:
    gammas = np.arange(1, 8)
    rising = law(1.5, 2.0, 2.4, 2.7, 2.9, 3.0, 3.3, deviation=1e-4)
    advice = advise(gammas, rising, tried=[0, 3], reach=lambda longest: longest + 2)
    assert advice.gamma == 5  # as far as drafts of 3 let us advise
    assert advice.next_run is not None
    assert (advice.next_run.gamma, advice.next_run.rival) == (5, 3)
    assert advice.next_run.gain == pytest.approx(np.log(3.3 / 2.9), rel=0.02)
    assert advice.next_run.gain_percent == pytest.approx(100 * (3.3 / 2.9 - 1), rel=0.02)


@pytest.mark.parametrize("near", [0.0, 0.01])
def test_the_gain_of_a_run_is_that_of_simulated_outcomes(near: float) -> None:
    """20,000 outcomes; the standard error of the gain is about 0.0006."""
    doubtful = law(1.2, 1.5, 1.48, deviation=(0.02, 0.03, 0.1))
    advice = advise(GAMMAS, doubtful, tried=[0, 3], near=near)
    following = advice.next_run
    assert following is not None
    generator = np.random.default_rng(5)
    at = GAMMAS.tolist().index(following.gamma)
    variance = doubtful.covariance[at, at]
    means = np.zeros((20_000, 4))
    means[:, 1:] = doubtful.medians
    outcome = np.sqrt(variance + REPEAT**2) * generator.standard_normal(20_000)
    means[:, 1 + at] += variance / (variance + REPEAT**2) * outcome
    chosen = (means >= means.max(axis=1, keepdims=True) - near).argmax(axis=1)
    now = float(np.log([1.0, 1.2, 1.5, 1.48])[[0, *GAMMAS].index(advice.gamma)])
    simulated = means[np.arange(20_000), chosen].mean() - now
    assert following.gain == pytest.approx(simulated, abs=0.003)


def test_a_gamma_that_cannot_be_better_is_not_run_to_learn_of_others() -> None:
    """A run of γ 1 informs more about γ 5 than its own, but γ 1 is far behind γ 3."""
    loading = np.array([0.15, 0.0, 0.06])
    learning = Forecast.normal(np.log([1.2, 1.6, 1.595]), np.outer(loading, loading))
    assert next_run(GAMMAS, learning, tried=[0, 3]) == (5, 3)


def test_no_candidate_means_no_draft() -> None:
    none = Forecast.exact(np.zeros(0))
    assert advise(np.zeros(0, dtype=np.int64), none).gamma == 0
