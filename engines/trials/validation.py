"""Predicted against measured on an engine: every γ, temperature and concurrency, a row each."""

from dataclasses import dataclass

from engines.trials.judgement import Scores, judge
from engines.trials.pair import prepared
from engines.trials.request import ValidateEngine
from engines.trials.row import EngineRow
from engines.trials.scoring import Pair, Scorer, Text
from engines.trials.steps import Steps
from engines.trials.timing import precision_percent, timed_steps
from engines.trials.trial import Case, Measured, Trial, priced_gammas
from engines.trials.turns import run_trial
from estimator.progress import SILENT, Progress


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors of the predicted speed-ups, and of the time of a token, per cent, of all rows.

    precision_percent: how far the clock lets speed-ups be off; None: not known.
    """

    mean_abs_error_percent: float
    max_abs_error_percent: float
    mean_abs_time_error_percent: float
    max_abs_time_error_percent: float
    precision_percent: float | None = None


@dataclass(frozen=True, slots=True)
class EngineValidation:
    """The result of a validation on an engine.

    rows: at least one; steps: what they were priced with, by case.
    precision_percent: how far the clock lets speed-ups be off; None: not known.
    """

    rows: tuple[EngineRow, ...]
    steps: dict[Case, Steps]
    prompts: int
    repeats: int
    precision_percent: float | None = None
    flags: tuple[str, ...] = ()

    @property
    def summary(self) -> Summary:
        """How good the predictions of all rows are."""
        speed = [abs(row.error_percent or 0.0) for row in self.rows]
        time = [abs(row.time_error_percent) for row in self.rows]
        return Summary(
            sum(speed) / len(speed),
            max(speed),
            sum(time) / len(time),
            max(time),
            self.precision_percent,
        )


def validate(request: ValidateEngine, progress: Progress = SILENT) -> EngineValidation:
    """Returns predicted and measured decoding on an engine, audited."""
    gammas = tuple(dict.fromkeys(request.gammas))
    with prepared(
        request,
        longest=max(gammas),
        gammas=gammas,
        priced_gammas=priced_gammas(gammas),
        temperatures=tuple(dict.fromkeys(request.temperatures)),
        server=request.server,
        synthetic=request.synthetic,
    ) as (engine, score, trial):
        trial, measured = run_trial(engine, trial, progress=progress)
        scores = _scores(trial, measured, score)
    timed = {case: timed_steps(trial, measured, case) for case in trial.cases}
    rows = tuple(
        judge(trial, measured, scores, timed[case], gamma, case)
        for case in trial.cases
        for gamma in trial.gammas
    )
    steps = {case: timed[case].steps(trial.priced_gammas) for case in trial.cases}
    return EngineValidation(
        rows,
        steps,
        len(trial.prompts),
        trial.repeats,
        precision_percent(trial, measured),
        engine.flags,
    )


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
