"""Predicted against measured on an engine: every γ, temperature and concurrency, a row each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from engines.engine import Engine, Server
from engines.trials.judgement import judge
from engines.trials.row import Row
from engines.trials.runs import Prompts, Run, run
from engines.trials.scoring import Pair, Scorer, Text
from engines.trials.steps import Steps, step_seconds
from engines.trials.trial import WARM_UP_PROMPTS, Case, Measured, Trial

# The repeat that comes before the first.
WARM_UP = -1


@dataclass(frozen=True, slots=True)
class Validation:
    """The rows, and the steps that they were priced with, by case."""

    rows: tuple[Row, ...]
    steps: dict[Case, Steps]


def measure(engine: Engine, trial: Trial, *, progress: Callable[[], object]) -> Measured:
    """Returns runs of an engine, each γ on a server of its own.

    Where servers run together, every repeat takes the γ in another order, so that a machine that
    slows down slows all of them.
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
                    _texts(server, trial, gamma, case, WARM_UP, progress)
            for repeat in range(trial.repeats):
                for case in trial.cases:
                    for gamma in order.permutation(group).tolist():
                        _measure_case(
                            servers[gamma], trial, gamma, case, repeat, measured, progress
                        )
    return measured


def _measure_case(
    server: Server,
    trial: Trial,
    gamma: int,
    case: Case,
    repeat: int,
    measured: Measured,
    progress: Callable[[], object],
) -> None:
    """Adds a repeat of one γ, temperature and concurrency."""
    for prompts, wanted, kept in (
        (trial.other_prompts, (0, *trial.priced_gammas), measured.priced),
        (trial.prompts, (0, *trial.gammas), measured.rows),
    ):
        if gamma in wanted:
            own = _texts(server, trial, gamma, case, repeat, progress, prompts)
            kept.setdefault((gamma, case), []).append(own)


def _texts(
    server: Server,
    trial: Trial,
    gamma: int,
    case: Case,
    repeat: int,
    progress: Callable[[], object],
    prompts: Prompts | None = None,
) -> Run:
    """Returns a run of prompts; without them, of a few that warm a server up."""
    temperature, concurrency = case
    chosen = trial.other_prompts[:WARM_UP_PROMPTS] if prompts is None else prompts
    return run(
        server,
        chosen,
        speculative=gamma > 0,
        max_new_tokens=trial.max_new_tokens,
        temperature=temperature,
        concurrency=concurrency,
        seed=trial.seed + (repeat - WARM_UP) * len(chosen),
        progress=progress,
    )


def steps_of(engine: Engine, trial: Trial, measured: Measured, case: Case) -> Steps:
    """Returns what steps cost on the other prompts."""
    return Steps(
        step_seconds(engine, measured.priced[0, case]),
        {
            gamma: step_seconds(engine, measured.priced[gamma, case])
            for gamma in trial.priced_gammas
        },
    )


def validate(
    engine: Engine,
    trial: Trial,
    *,
    draft: str,
    score: Scorer,
    progress: Callable[[], object],
) -> Validation:
    """Returns predicted beside measured decoding on an engine.

    Args:
      engine: serves the pair.
      trial: what to run.
      draft: its name, for the rows.
      score: scores texts by both models.
      progress: called after each of trial.texts texts.

    Raises:
      ValueError: if the engine does not start, or refuses what is asked of it.
    """
    measured = measure(engine, trial, progress=progress)
    pairs = _scores(trial, measured, score)
    steps = {case: steps_of(engine, trial, measured, case) for case in trial.cases}
    rows = tuple(
        judge(engine, trial, measured, pairs, gamma, case, steps[case], draft=draft)
        for case in trial.cases
        for gamma in trial.gammas
    )
    return Validation(rows, steps)


def _scores(
    trial: Trial, measured: Measured, score: Scorer
) -> dict[tuple[int, Case], list[list[Pair]]]:
    """Returns the scores of every row's texts, by γ and case, repeat, prompt: each text once."""
    scored: dict[tuple[int, Case], list[list[Pair]]] = {}
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
