"""Compares predicted with measured decoding on an engine: a row for each γ and case."""

from dataclasses import dataclass

from engines.trials.judgement import Scores, judge
from engines.trials.pair import Pair, Scorer, Text, prepared
from engines.trials.request import ValidateEngine
from engines.trials.row import EngineRow
from engines.trials.steps import Steps
from engines.trials.timing import precision_percent, timed_steps
from engines.trials.trial import Case, Measured, Trial
from engines.trials.turns import run_trial
from estimator.progress import SILENT, Progress
from estimator.validation.row import max_abs, mean_abs


@dataclass(frozen=True, slots=True)
class EngineValidation:
    """The result of a validation on an engine.

    rows: at least one.
    steps: step times behind the predictions, by case.
    precision_percent: error of measured speed-ups due to the clock; None: unknown.
    """

    rows: tuple[EngineRow, ...]
    steps: dict[Case, Steps]
    prompts: int
    repeats: int
    precision_percent: float | None = None
    flags: tuple[str, ...] = ()

    @property
    def summary(self) -> dict[str, float | None]:
        """Errors of predicted speed-ups and token times over all rows, in per cent, by JSON key."""
        speed = [row.error_percent for row in self.rows]
        time = [row.time_error_percent for row in self.rows]
        return {
            "mean_abs_error_percent": mean_abs(speed),
            "max_abs_error_percent": max_abs(speed),
            "mean_abs_time_error_percent": mean_abs(time),
            "max_abs_time_error_percent": max_abs(time),
            "precision_percent": self.precision_percent,
        }


def validate(request: ValidateEngine, progress: Progress = SILENT) -> EngineValidation:
    """Returns rows of predicted and measured decoding on an engine, with their audit."""
    with prepared(request) as (engine, score, trial):
        trial, measured = run_trial(engine, trial, progress=progress)
        scores = _scores(trial, measured, score)
    timed = {case: timed_steps(trial, measured, case) for case in trial.cases}
    rows = tuple(
        judge(trial, measured, scores, timed[case], gamma, case)
        for case in trial.cases
        for gamma in trial.gammas
    )
    steps = {case: timed[case].steps(request.priced_gammas) for case in trial.cases}
    return EngineValidation(
        rows,
        steps,
        len(trial.prompts),
        trial.repeats,
        precision_percent(trial, measured),
        engine.flags,
    )


def _scores(trial: Trial, measured: Measured, score: Scorer) -> Scores:
    """Returns the scores of the rows' texts; equal texts are scored once."""
    scored: Scores = {}
    for temperature in trial.temperatures:
        keys = [key for key in measured.rows if key[1][0] == temperature]
        texts = {
            (prompt, text.tokens): None
            for key in keys
            for one in measured.rows[key]
            for prompt, text in zip(trial.prompts, one.completions, strict=True)
        }
        known: dict[Text, Pair] = dict(zip(texts, score(list(texts), temperature), strict=True))
        for key in keys:
            scored[key] = [
                [
                    known[prompt, text.tokens]
                    for prompt, text in zip(trial.prompts, one.completions, strict=True)
                ]
                for one in measured.rows[key]
            ]
    return scored
