"""Intervals of measured speed-ups cover as often as they say, over prompts and over repeats."""

import numpy as np
import pytest
import scipy.stats
from made_trials import ENGINE, made_measured, made_run, made_trial
from numpy.typing import NDArray

from engines.trials.timing import PassTimes, speed_up_interval, timed_steps

GAMMA, ALONE, STEP = 3, 2e-3, 5e-3
# A first token, and two blocks with every draft accepted.
TOKENS = 1 + 2 * (GAMMA + 1)
SPEED_UP = ALONE * (GAMMA + 1) / STEP


def interval(
    times: NDArray[np.float64], *, priced: int | None = None, at_once: bool = False, seed: int = 0
) -> tuple[float, float] | tuple[None, None]:
    """Returns the interval of runs of `times`; see `made_trials`."""
    _, repeats, prompts = times.shape
    trial = made_trial(
        gamma=GAMMA,
        prompts=prompts,
        tokens=TOKENS,
        repeats=repeats,
        concurrencies=(prompts if at_once else 1,),
        priced=priced,
        seed=seed,
    )
    [case] = trial.cases
    measured = made_measured(trial, times, plain=ALONE, step=STEP)
    timed = timed_steps(trial, measured, case)
    speed_up = (GAMMA + 1) * timed.levels["rows", 0] / timed.levels["rows", GAMMA]
    return speed_up_interval(speed_up, ENGINE, timed, measured.rows[GAMMA, case], GAMMA, case)


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
    timed = PassTimes({}, np.zeros((200, prompts), dtype=np.int64), resampled)
    trial = made_trial(gamma=GAMMA, prompts=prompts, tokens=TOKENS, repeats=1)
    own = [made_run(trial, np.ones(prompts), drafts=True)]
    low, high = speed_up_interval(1.5, ENGINE, timed, own, GAMMA, (0.0, 1))
    error = np.log(quotients).std() * np.sqrt(prompts / (prompts - 1))
    reach = np.exp(scipy.stats.t.ppf(0.95, prompts - 1) * error)
    assert (low, high) == pytest.approx((1.5 / reach, 1.5 * reach))
