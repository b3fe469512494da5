"""Rows of a validation: the machine's speed, turn by turn, moves neither estimate nor interval."""

from types import SimpleNamespace

import numpy as np
import pytest

from engines.counting.counts import Counts
from engines.engine import Completion
from engines.scores.text_scores import TextScores
from engines.trials.judgement import judge
from engines.trials.levels import timed_steps
from engines.trials.row import Row
from engines.trials.runs import Run
from engines.trials.trial import Case, Measured, Trial
from engines.trials.validation import steps_of

GAMMA, REPEATS, PROMPTS = 3, 2, 5
ALONE, STEP = 2e-3, 5e-3
ENGINE = SimpleNamespace(name="made", drafts_past_end=False, drafts_with_prompt=False)
# A first token, and two blocks in which every draft stands.
TOKENS = 1 + 2 * (GAMMA + 1)


def trial_of(concurrency: int) -> Trial:
    prompts = tuple((n,) for n in range(PROMPTS))
    return Trial(
        prompts=prompts,
        other_prompts=prompts,
        gammas=(GAMMA,),
        priced_gammas=(GAMMA,),
        temperatures=(0.0,),
        concurrencies=(concurrency,),
        draft_sampling="argmax",
        max_new_tokens=TOKENS,
        repeats=REPEATS,
        seed=0,
        together=True,
    )


def judged(trial: Trial, speeds: np.ndarray, noise: np.ndarray) -> Row:
    """Returns the row of runs at some speed of each turn, shape (repeats, prompts)."""
    [case] = trial.cases
    measured = Measured("1")
    for gamma, seconds in ((0, ALONE * (TOKENS - 1)), (GAMMA, 2 * STEP)):
        runs = [made_run(gamma, seconds * row, case) for row in speeds * noise[int(gamma > 0)]]
        measured.rows[gamma, case] = runs
        measured.priced[gamma, case] = runs
    scores = TextScores.of(np.zeros(TOKENS), np.ones(TOKENS, dtype=int))
    pairs = {key: [[(scores, scores)] * PROMPTS] * REPEATS for key in measured.rows}
    timed = timed_steps(ENGINE, trial, measured, case)  # type: ignore[arg-type]
    steps = steps_of(trial, timed.levels)
    return judge(
        ENGINE, trial, measured, pairs, GAMMA, case, steps, timed, draft="d"  # type: ignore[arg-type]
    )


def made_run(gamma: int, seconds: np.ndarray, case: Case) -> Run:
    texts = tuple(Completion((0,) * TOKENS, 1, float(s)) for s in seconds)
    each = Counts(2, 2 * gamma, (2,) * gamma) if gamma > 0 else Counts(0, 0, ())
    counts = (each,) * PROMPTS if case[1] == 1 else (sum([each] * PROMPTS, Counts(0, 0, ())),)
    return Run(texts, counts)


QUIET = np.ones((2, REPEATS, PROMPTS))


def test_speeds_of_turns_leave_no_trace_in_the_interval() -> None:
    speeds = np.random.default_rng(0).uniform(1, 2, (REPEATS, PROMPTS))
    row = judged(trial_of(1), speeds, QUIET)
    assert row.target_calls == row.predicted_target_calls == 2 * PROMPTS * REPEATS
    assert row.measured == pytest.approx(ALONE * (GAMMA + 1) / STEP)
    assert row.measured_low == pytest.approx(row.measured)
    assert row.measured_high == pytest.approx(row.measured)


def test_what_differs_between_prompts_is_the_interval() -> None:
    noise = np.exp(np.random.default_rng(1).normal(0, 0.05, (2, REPEATS, PROMPTS)))
    row = judged(trial_of(1), np.ones((REPEATS, PROMPTS)), noise)
    assert row.measured_low is not None
    assert row.measured_high is not None
    assert row.measured_low < row.measured < row.measured_high


def test_repeats_are_left_out_where_prompts_ran_at_once() -> None:
    speeds = np.array([1.0, 1.7])[:, np.newaxis] * np.ones(PROMPTS)
    row = judged(trial_of(4), speeds, QUIET)
    assert row.measured_low == pytest.approx(row.measured)
    assert row.measured == pytest.approx(ALONE * (GAMMA + 1) / STEP)
