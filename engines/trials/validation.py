"""Predicted against measured on an engine: every γ, temperature and concurrency, a row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engines.engine import Engine, Server
from engines.trials.judgement import judge
from engines.trials.row import Row
from engines.trials.runs import Prompts, Run, run
from engines.trials.scoring import Pair, Scorer, Text
from engines.trials.steps import Steps
from engines.trials.trial import WARM_UP_PROMPTS, Case, Measured, Trial


@dataclass(frozen=True, slots=True)
class Validation:
    """The rows, and the steps that they were priced with, by case."""

    rows: tuple[Row, ...]
    steps: dict[Case, Steps]


def measure(engine: Engine, trial: Trial, *, progress: Callable[[], object]) -> Measured:
    """Returns runs of an engine, each γ on a server of its own, in turn."""
    measured = Measured()
    for gamma in trial.served_gammas:
        with engine.serve(trial.setting(gamma)) as server:
            measured.version = server.version
            for case in trial.cases:
                _measure_case(server, trial, gamma, case, measured, progress)
    return measured


def _measure_case(
    server: Server,
    trial: Trial,
    gamma: int,
    case: Case,
    measured: Measured,
    progress: Callable[[], object],
) -> None:
    """Adds the runs of one γ, temperature and concurrency."""
    temperature, concurrency = case

    def texts(prompts: Prompts, repeat: int) -> Run:
        return run(
            server,
            prompts,
            speculative=gamma > 0,
            max_new_tokens=trial.max_new_tokens,
            temperature=temperature,
            concurrency=concurrency,
            seed=trial.seed + repeat * len(prompts),
            progress=progress,
        )

    texts(trial.other_prompts[:WARM_UP_PROMPTS], 0)
    for repeat in range(trial.repeats):
        if gamma in (0, *trial.priced_gammas):
            runs = measured.priced.setdefault((gamma, case), [])
            runs.append(texts(trial.other_prompts, repeat))
        if gamma in (0, *trial.gammas):
            measured.rows.setdefault((gamma, case), []).append(texts(trial.prompts, repeat))


def step_seconds(engine: Engine, runs: Sequence[Run]) -> float:
    """Returns the mean seconds of a target pass of runs, drafting included."""
    steps = sum(one.steps(drafts_past_end=engine.drafts_past_end) for one in runs)
    return sum(one.seconds for one in runs) / steps


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
