"""Intervals of measured speed-ups cover as often as they say, over prompts and over repeats."""

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from engines.counting.counts import NOTHING, Counts
from engines.engine import Completion
from engines.kind import EngineKind
from engines.trials.resampling import speed_up_interval
from engines.trials.runs import Run
from engines.trials.timing import Timed, timed_steps
from engines.trials.trial import Case, Measured, Trial

GAMMA = 3
ENGINE = EngineKind(name="made", title="made")
# A first token, and two blocks in which every draft stands.
TOKENS = 1 + 2 * (GAMMA + 1)
ALONE, STEP = 2e-3, 5e-3
SPEED_UP = ALONE * (GAMMA + 1) / STEP


def interval(
    times: NDArray[np.float64],
    *,
    others: int | None = None,
    at_once: bool = False,
    seed: int = 0,
) -> tuple[float, float] | tuple[None, None]:
    """Returns the interval of runs.

    Args:
      times: over what they take, of priced and predicted prompts alone and with drafts, shape
        (4, repeats, prompts).
      others: how many of the prompts were priced; None: all.
      at_once: whether the prompts of a repeat ran together.
      seed: of what is drawn anew.
    """
    _, repeats, count = times.shape
    prompts = tuple((n,) for n in range(count))
    case: Case = (0.0, count if at_once else 1)
    trial = Trial(
        kind=ENGINE,
        draft="d",
        prompts=prompts,
        other_prompts=prompts[:others],
        gammas=(GAMMA,),
        priced_gammas=(GAMMA,),
        temperatures=(0.0,),
        concurrencies=(case[1],),
        draft_sampling="argmax",
        max_new_tokens=TOKENS,
        repeats=repeats,
        seed=seed,
        together=True,
    )
    measured = Measured("1")
    cells = ((kind, gamma) for kind in ("priced", "rows") for gamma in (0, GAMMA))
    for (kind, gamma), rows in zip(cells, times, strict=True):
        kept = slice(others if kind == "priced" else None)
        measured.of(kind)[gamma, case] = [run_of(gamma, row[kept], at_once) for row in rows]
    timed = timed_steps(trial, measured, case)
    own = measured.rows[GAMMA, case]
    speed_up = (GAMMA + 1) * timed.levels["rows", 0] / timed.levels["rows", GAMMA]
    return speed_up_interval(speed_up, ENGINE, timed, own, GAMMA, case)


def run_of(gamma: int, times: NDArray[np.float64], at_once: bool) -> Run:
    whole = 2 * STEP if gamma > 0 else ALONE * (TOKENS - 1)
    texts = tuple(Completion((0,) * TOKENS, 1, float(whole * time)) for time in times)
    each = Counts(2, 2 * gamma, (2,) * gamma) if gamma > 0 else NOTHING
    return Run(texts, (sum([each] * len(texts), NOTHING),) if at_once else (each,) * len(texts))


# Prompts, repeats, trials, at once, and how much speed-ups of prompts differ.
DESIGNS = [
    (8, 3, 200, False, 0.0),
    (8, 3, 200, False, 0.05),
    (16, 1, 300, False, 0.0),
    (16, 1, 200, False, 0.05),
    (16, 6, 100, False, 0.0),
    (2, 7, 200, True, 0.0),
]


def test_intervals_cover_the_speed_up_as_often_as_they_say() -> None:
    from scipy.stats import binom

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
        # Of intervals that cover in 95 % of all cases, one in ten thousand such counts is less.
        assert covered >= binom.ppf(1e-4, trials, 0.95), (prompts, repeats, at_once, differing)
        found, most = found + covered, most + trials
    assert found >= binom.ppf(1e-4, most, 0.95)


def test_fewer_priced_prompts_than_predicted_ones_leave_an_interval() -> None:
    times = np.exp(np.random.default_rng(1).normal(0, 0.05, (4, 2, 5)))
    low, high = interval(times, others=4)
    assert low is not None
    assert high is not None
    assert 0.5 * SPEED_UP < low < high < 2 * SPEED_UP


@pytest.mark.parametrize(("repeats", "prompts", "at_once"), [(3, 1, False), (1, 4, True)])
def test_one_prompt_or_repeat_has_no_interval(repeats: int, prompts: int, at_once: bool) -> None:
    assert interval(np.ones((4, repeats, prompts)), at_once=at_once) == (None, None)


@pytest.mark.parametrize("prompts", [3, 8])
def test_the_interval_is_student_s_on_the_spread_of_resamples(prompts: int) -> None:
    quotients = np.exp(np.random.default_rng(0).normal(0.3, 0.1, 200))
    drawn = np.zeros((200, prompts), dtype=np.int64)
    resampled = {("rows", 0): quotients, ("rows", GAMMA): np.ones(200)}
    own = [run_of(GAMMA, np.ones(prompts), at_once=False)]
    low, high = speed_up_interval(
        1.5, ENGINE, Timed({}, drawn, resampled), own, GAMMA, (0.0, 1)
    )
    error = np.log(quotients).std() * np.sqrt(prompts / (prompts - 1))
    reach = np.exp(scipy.stats.t.ppf(0.975, prompts - 1) * error)
    assert (low, high) == pytest.approx((1.5 / reach, 1.5 * reach))
