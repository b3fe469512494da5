"""Predicted against measured on an engine: every γ, temperature and concurrency, a row each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from engines.engine import Engine, Server
from engines.trials.judgement import Scores, judge
from engines.trials.row import Row
from engines.trials.runs import Prompts, Run, run
from engines.trials.scoring import Pair, Scorer, Text
from engines.trials.steps import Steps
from engines.trials.timing import timed_steps
from engines.trials.trial import WARM_UP_PROMPTS, Case, Measured, Trial

# Seeds of texts that warm a server up come before all others.
WARM_UP = 0


@dataclass(frozen=True, slots=True)
class Validation:
    """The rows, and the steps that they were priced with, by case."""

    rows: tuple[Row, ...]
    steps: dict[Case, Steps]

    @property
    def summary(self) -> Summary:
        """How good the predictions of all rows are."""
        speed = [abs(row.error_percent) for row in self.rows]
        time = [abs(row.time_error_percent) for row in self.rows]
        return Summary(sum(speed) / len(speed), max(speed), sum(time) / len(time), max(time))


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors of the predicted speed-ups, and of the time of a token, per cent, of all rows."""

    mean_abs_error_percent: float
    max_abs_error_percent: float
    mean_abs_time_error_percent: float
    max_abs_time_error_percent: float


def measure(engine: Engine, trial: Trial, *, progress: Callable[[], object]) -> Measured:
    """Returns runs of an engine, each γ on a server of its own.

    Prompts that are predicted and prompts that are priced take turns, so that a machine that slows
    down slows both; where servers run together, so do the γ. Each turn has another order: a text
    may profit from the one before it on the same server.

    Raises:
      ValueError: if the engine does not start, or drafts at another γ than it is asked to.
    """
    measured = Measured()
    gammas = trial.served_gammas
    order = np.random.default_rng(trial.seed)
    for group in [gammas] if trial.together else [(gamma,) for gamma in gammas]:
        with ExitStack() as stack:
            servers = {
                gamma: stack.enter_context(engine.serve(trial.setting(gamma))) for gamma in group
            }
            for gamma, server in servers.items():
                measured.version = server.version
                for case in trial.cases:
                    warming = trial.other_prompts[:WARM_UP_PROMPTS]
                    warm = _texts(server, trial, gamma, case, warming, WARM_UP, progress)
                    if gamma > 0:
                        warm.require_gamma(gamma, drafts_past_end=trial.kind.drafts_past_end)
            cells = trial.cells(group)
            for repeat, case, turn in trial.all_turns:
                for number in order.permutation(len(cells)):
                    use, gamma = cells[number]
                    prompts = trial.prompts_of(use)
                    if not prompts[turn]:
                        continue
                    first = turn.start + (repeat + 1) * len(prompts)
                    own = _texts(
                        servers[gamma], trial, gamma, case, prompts[turn], first, progress
                    )
                    measured.add(cells[number], case, repeat, own)
    return measured


def _texts(
    server: Server,
    trial: Trial,
    gamma: int,
    case: Case,
    prompts: Prompts,
    first: int,
    progress: Callable[[], object],
) -> Run:
    """Returns a run of prompts, seeds counted from `first` on."""
    temperature, concurrency = case
    return run(
        server,
        prompts,
        speculative=gamma > 0,
        max_new_tokens=trial.max_new_tokens,
        temperature=temperature,
        concurrency=concurrency,
        seed=trial.seed + first,
        progress=progress,
    )


def validate(
    engine: Engine,
    trial: Trial,
    *,
    score: Scorer,
    progress: Callable[[], object],
) -> Validation:
    """Returns predicted beside measured decoding on an engine.

    Args:
      engine: serves the pair.
      trial: what to run.
      score: scores texts by both models.
      progress: called after each of trial.texts texts.

    Raises:
      ValueError: if the engine does not start, or refuses what is asked of it.
    """
    measured = measure(engine, trial, progress=progress)
    scores = _scores(trial, measured, score)
    timed = {case: timed_steps(trial, measured, case) for case in trial.cases}
    rows = tuple(
        judge(trial, measured, scores, timed[case], gamma, case)
        for case in trial.cases
        for gamma in trial.gammas
    )
    steps = {case: timed[case].steps(trial.priced_gammas) for case in trial.cases}
    return Validation(rows, steps)


def _scores(trial: Trial, measured: Measured, score: Scorer) -> Scores:
    """Returns the scores of every row's texts, each text scored once."""
    scored: Scores = {}
    for temperature in trial.temperatures:
        keys = [key for key in measured.rows if key[1][0] == temperature]
        texts = {
            (prompt, text.tokens): None
            for key in keys
            for one in measured.rows[key]
            for prompt, text in zip(trial.prompts, one.completions, strict=True)
        }
        known: dict[Text, Pair] = dict(
            zip(texts, score(list(texts), temperature), strict=True)
        )
        for key in keys:
            scored[key] = [
                [
                    known[prompt, text.tokens]
                    for prompt, text in zip(trial.prompts, one.completions, strict=True)
                ]
                for one in measured.rows[key]
            ]
    return scored
