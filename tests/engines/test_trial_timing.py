"""Times of an engine's steps: prices by a line or a corner, and intervals that cover."""

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from engines.trials.request import priced_gammas
from engines.trials.timing import PassTimes, Steps, timed_steps
from tests.engines.made_trials import ALONE, GAMMA, STEP, made_run, made_runs, made_trial

SPEED_UP = ALONE * (GAMMA + 1) / STEP


@pytest.mark.parametrize(
    ("seconds", "line_error", "c", "blocks"),
    [
        # A line prices what lies between and beyond.
        ({1: 2.0, 4: 3.5, 8: 5.5}, 0, 0.5, {1: 2, 2: 2.5, 4: 3.5, 8: 5.5, 10: 6.5}),
        # A third point off the line is a corner; within two per cent the line is kept.
        ({1: 2.0, 4: 4.4, 8: 5.5}, 3.5 / 4.4 - 1, 0.5, {1: 2, 2: 2.8, 4: 4.4, 6: 4.95, 8: 5.5}),
        ({1: 2.0, 4: 3.55, 8: 5.5}, 3.5 / 3.55 - 1, 0.5, {4: 3.5}),
        # Prices that fall on the way are met; c is at least 0.
        ({1: 5.0, 2: 4.0, 4: 6.0}, 16 / 3 / 4 - 1, 1 / 3, {1: 5, 2: 4, 4: 6}),
        ({1: 5.0, 4: 4.0}, None, 0, {1: 5, 4: 4}),
        # c is what one more drafted token adds, over a token of the target.
        ({1: 1.05, 8: 3.0}, None, 1.95 / 7, {1: 1.05, 8: 3}),
        # With a single gamma, c is taken from the target.
        ({4: 3.0}, None, 0.5, {4: 3}),
    ],
)
def test_steps_are_priced_by_a_line_or_a_corner(
    seconds: dict[int, float], line_error: float | None, c: float, blocks: dict[int, float]
) -> None:
    steps = Steps(1.0, seconds)
    assert steps.line_error == (None if line_error is None else pytest.approx(line_error))
    assert steps.is_line == (line_error is None or abs(line_error) <= 0.02)
    assert steps.c == pytest.approx(c)
    assert steps.cost.block_seconds(list(blocks)) == pytest.approx(list(blocks.values()))
    assert steps.cost.baseline_seconds == 1.0
    assert steps.cost.c == pytest.approx(c)


def test_steps_that_grow_faster_than_gamma_keep_their_prices() -> None:
    steps = Steps(1.0, {1: 1.0, 8: 20.0})
    assert steps.c == pytest.approx(19 / 7)
    assert steps.cost.block_seconds([1, 8]) == pytest.approx([1, 20])
    assert steps.cost.c == pytest.approx(0.99)


def test_a_gamma_off_the_line_has_its_own_price_and_changes_no_other() -> None:
    steps = Steps(1.0, {1: 4.0, 3: 2.5, 5: 3.5, 8: 5.0}, off_line=frozenset({1}))
    assert steps.line_error == pytest.approx(0)
    assert steps.c == pytest.approx(0.5)
    prices = {1: 4.0, 2: 2.0, 3: 2.5, 4: 3.0, 8: 5.0}
    assert steps.cost.block_seconds(list(prices)) == pytest.approx(list(prices.values()))
    only = Steps(1.0, {1: 4.0}, off_line=frozenset({1}))
    assert only.cost.block_seconds([1]) == pytest.approx([4.0])


def test_a_gamma_off_the_line_is_timed_beside_the_gammas_of_the_line() -> None:
    assert priced_gammas((1, 2, 4, 8), off_line=frozenset({1})) == (1, 2, 4, 8)
    assert priced_gammas((3, 5, 8, 9), off_line=frozenset({1})) == (3, 8, 9)
    assert priced_gammas((1,), off_line=frozenset({1})) == (1,)


@pytest.mark.parametrize(
    ("gammas", "priced"),
    [((1, 2, 3, 4, 6, 8), (1, 4, 8)), ((8, 1), (1, 8)), ((4,), (4,)), ((1, 2, 4, 8), (1, 4, 8))],
)
def test_prices_are_taken_at_the_outer_gammas_and_between(
    gammas: tuple[int, ...], priced: tuple[int, ...]
) -> None:
    assert priced_gammas(gammas) == priced


def interval(
    times: NDArray[np.float64], *, priced: int | None = None, at_once: bool = False, seed: int = 0
) -> tuple[float, float] | tuple[None, None]:
    """Returns the interval of runs of `times`; see `made_trials`."""
    together = times.shape[-1] if at_once else 1
    trial = made_runs(times, at_once=together, priced=priced, seed=seed)
    [case] = trial.cases
    timed = timed_steps(trial, case)
    speed_up = (GAMMA + 1) * timed.levels["rows", 0] / timed.levels["rows", GAMMA]
    return timed.speed_up_interval(speed_up, GAMMA)


# Prompts, repeats, trials, at once, and how much speed-ups of prompts differ.
DESIGNS = [
    (8, 3, 150, False, 0.0),
    (8, 3, 150, False, 0.05),
    (16, 1, 200, False, 0.0),
    (16, 1, 150, False, 0.05),
    (16, 6, 50, False, 0.0),
    (2, 7, 150, True, 0.0),
]


def test_intervals_cover_the_speed_up_as_often_as_they_say() -> None:
    generator = np.random.default_rng(0)
    found, most = 0, 0
    for prompts, repeats, trials, at_once, differing in DESIGNS:
        covered = 0
        for seed in range(trials):
            shape = (repeats, 1) if at_once else (repeats, prompts)
            logs = generator.normal(0, 0.08, (4, *shape)) + generator.uniform(0, 0.7, shape)
            logs += generator.normal(0, differing, (4, 1, shape[1]))
            times = np.exp(logs) * np.ones(prompts)
            low, high = interval(times, at_once=at_once, seed=seed)
            assert low is not None
            assert high is not None
            covered += low <= SPEED_UP <= high
        # With a coverage of 90 %, one in ten thousand such counts is less.
        assert covered >= scipy.stats.binom.ppf(1e-4, trials, 0.9), (prompts, repeats, differing)
        found, most = found + covered, most + trials
    assert found >= scipy.stats.binom.ppf(1e-4, most, 0.9)


def test_fewer_priced_prompts_than_predicted_ones_leave_an_interval() -> None:
    times = np.exp(np.random.default_rng(1).normal(0, 0.05, (4, 2, 5)))
    low, high = interval(times, priced=4)
    assert low is not None
    assert high is not None
    assert 0.5 * SPEED_UP < low < high < 2 * SPEED_UP


@pytest.mark.parametrize(("repeats", "prompts", "at_once"), [(3, 1, False), (1, 4, True)])
def test_one_prompt_or_repeat_has_no_interval(repeats: int, prompts: int, at_once: bool) -> None:
    assert interval(np.ones((4, repeats, prompts)), at_once=at_once) == (None, None)


@pytest.mark.parametrize("prompts", [3, 8])
def test_the_interval_is_student_s_on_the_spread_of_resamples(prompts: int) -> None:
    quotients = np.exp(np.random.default_rng(0).normal(0.3, 0.1, 200))
    resampled = {("rows", 0): quotients, ("rows", GAMMA): np.ones(200)}
    trial = made_trial(prompts=prompts)
    [case] = trial.cases
    trial.runs[case] = {("rows", GAMMA): [made_run(trial, np.ones(prompts), drafts=True)]}
    timed = PassTimes(trial, case, {}, np.zeros((200, prompts), dtype=np.int64), resampled)
    low, high = timed.speed_up_interval(1.5, GAMMA)
    error = np.log(quotients).std() * np.sqrt(prompts / (prompts - 1))
    reach = np.exp(scipy.stats.t.ppf(0.95, prompts - 1) * error)
    assert (low, high) == pytest.approx((1.5 / reach, 1.5 * reach))
