"""Compares predicted with measured decoding on an engine: a row for each γ and case."""

from dataclasses import dataclass

from engines.trials.judgement import EngineRow, Scores, judge
from engines.trials.pair import Scorer, prepared, texts_of
from engines.trials.request import ValidateEngine
from engines.trials.runs import Case
from engines.trials.timing import Steps, precision_percent, timed_steps
from engines.trials.trial import Trial
from engines.trials.turns import run_trial
from estimator.progress import SILENT, Progress
from estimator.validation.file import max_abs, mean_abs


@dataclass(frozen=True, slots=True)
class EngineValidation:
    """The result of a validation on an engine.

    rows: at least one.
    steps: step times from which the rows are predicted, by case (temperature, concurrency).
    precision_percent: timing error of measured speed-ups, in per cent; None: unknown.
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
    """Returns predicted and measured decoding on an engine, with an audit of its acceptance."""
    with prepared(request) as (engine, score, trial):
        trial = run_trial(engine, trial, progress=progress)
        scores = {heat: _scores(trial, heat, score) for heat in trial.temperatures}
    timed = {case: timed_steps(trial, case) for case in trial.cases}
    return EngineValidation(
        rows=tuple(
            judge(trial, scores[case[0]], timed[case], gamma, case)
            for case in trial.cases
            for gamma in trial.gammas
        ),
        steps={case: timed[case].steps(request.priced_gammas) for case in trial.cases},
        prompts=len(trial.prompts),
        repeats=trial.repeats,
        precision_percent=precision_percent(trial),
        flags=engine.flags,
    )


def _scores(trial: Trial, temperature: float, score: Scorer) -> Scores:
    """Returns both models' scores of the texts of one temperature; equal texts are scored once."""
    texts = {
        text: None
        for case, cells in trial.runs.items()
        for (use, _), runs in cells.items()
        if use == "rows" and case[0] == temperature
        for one in runs
        for text in texts_of(trial, one)
    }
    return dict(zip(texts, score(list(texts), temperature), strict=True))
