"""Compares predicted with measured decoding on an engine: a row for each γ and case."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engines.counting import NOTHING, RateInterval
from engines.engine import Case
from engines.text_scores import Pair, Scorer, Text, acceptance
from engines.trials.audit import audit, greedy_text_gap, predict, simulated, text_gap
from engines.trials.request import ValidateEngine
from engines.trials.running import completed
from engines.trials.timing import PassTimes, Steps, precision_percent, timed_steps
from engines.trials.trial import Trial
from estimator.progress import SILENT, Progress
from estimator.prompts.prompts import prompts_hash
from estimator.validation.file import ValidationRow, max_abs, mean_abs, row_doubts
from simulator.acceptance.replay import Replay
from simulator.choice.walltime import improvement_factor

# Target and draft scores of the texts of one temperature.
Scores = Mapping[Text, Pair]


class EngineRow(ValidationRow, frozen=True, kw_only=True):
    """Prediction and measurement of one γ on an engine. Speed-ups exclude the time of prompts.

    alpha: mean acceptance probability of a token (a_t of `text_scores`) along the target's texts.
    c: time that one more drafted token adds to a step, relative to a baseline step.
    acceptance_predicted, acceptance_counted: unconditional rates by position.
    acceptance_explained: whether the prediction explains the counts; audit: the reason if not.
    predicted_from: source of the prediction: "replay" of the run's own texts, or the engine's
      "counts" if acceptance is simulated or not explained.
    predicted_theorem8: speed-up by Theorem 8, with free verification and i.i.d. acceptance.
    predicted_seconds_per_token: predicted seconds per token of one sequence.
    predicted_target_calls: number of target passes by replay; None if the run's texts cannot be
      replayed.
    target_calls: counted target passes, without passes over prompts.
    """

    derived: ClassVar[tuple[str, ...]] = (
        "error_percent", "time_error_percent", "predicted_calibrated", "seconds_per_token",
    )  # fmt: skip

    gamma: int
    alpha: float
    predicted: float
    ms_per_token: float
    tokens_per_second: float
    engine: str
    engine_version: str
    concurrency: int
    c: float
    acceptance_predicted: tuple[RateInterval, ...]
    acceptance_counted: tuple[RateInterval, ...]
    acceptance_explained: bool
    audit: str
    predicted_from: str
    predicted_theorem8: float
    predicted_seconds_per_token: float
    predicted_target_calls: float | None
    target_calls: int
    block_efficiency: float
    accepted_fraction: float
    identical_to_target: bool | None
    baseline_tokens_per_second: float

    @property
    def seconds_per_token(self) -> float:
        """Measured seconds per token of one sequence."""
        return self.ms_per_token / 1e3

    @property
    def time_error_percent(self) -> float:
        """Relative error of the predicted seconds per token, in per cent."""
        return 100 * (self.predicted_seconds_per_token / self.seconds_per_token - 1)


@dataclass(frozen=True, slots=True)
class EngineValidation:
    """The result of a validation on an engine, with at least one row.

    steps: step times from which the rows are predicted, by case (temperature, concurrency).
    precision_percent: timing error of measured speed-ups, in per cent.
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
    with completed(
        request, progress, tuple(dict.fromkeys(request.gammas)), request.priced_gammas,
        tuple(dict.fromkeys(request.temperatures)), request.synthetic, server=request.server,
    ) as (engine, score, trial):  # fmt: skip
        scores = {heat: _scores(trial, heat, score) for heat in trial.temperatures}
    timed = {case: timed_steps(trial, case) for case in trial.cases}
    return EngineValidation(
        rows=tuple(
            judge(trial, scores[case[0]], timed[case], gamma, case)
            for case in trial.cases
            for gamma in trial.gammas
        ),
        steps={case: timed[case].steps for case in trial.cases},
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
        for text in trial.texts(one)
    }
    return dict(zip(texts, score(list(texts), temperature), strict=True))


# Identity of a text, which repeats of a greedy text share; a_t of its tokens, shape (N,), and a_t
# from the first draft on.
Along = tuple[tuple[int, ...], NDArray[np.float64], NDArray[np.float64]]


def judge(trial: Trial, scores: Scores, timed: PassTimes, gamma: int, case: Case) -> EngineRow:
    """Returns prediction and measurement of one γ at a case's temperature and concurrency."""
    (temperature, concurrency), synthetic = case, trial.synthetic
    runs_of_gamma, plain = (trial.runs[case]["rows", length] for length in (gamma, 0))
    written = [[trial.texts(one) for one in runs] for runs in (runs_of_gamma, plain)]
    gap = None if synthetic is not None else _gap(written, scores, temperature)
    # If the engine's texts are not the target's, acceptance along the target's own texts is used.
    replays = gap is None and synthetic is None
    texts = _along(trial, scores, gamma if replays else 0, case)
    counts = sum((one.total for one in runs_of_gamma), NOTHING)
    if synthetic is not None:
        allowed = simulated(synthetic[:gamma], drafts=counts.drafts)
    else:
        chances = {which: drafted for which, _, drafted in texts}
        allowed = predict(
            list(chances.values()),
            times=list(Counter(which for which, _, _ in texts).values()),
            gamma=gamma,
            drafts_past_end=trial.kind.drafts_past_end,
            resample=not replays,
            generator=np.random.default_rng((trial.request.seed, gamma)),
        )
    counted, sentence = audit(allowed, counts, text_gap=gap)
    calls = sum(one.steps(drafts_past_end=trial.kind.drafts_past_end) for one in runs_of_gamma)
    with_prompts = len(texts) if trial.kind.drafts_with_prompt else 0
    every = (float(Replay(drafted).calls(gamma)) for _, _, drafted in texts)
    replayed = sum(every) - with_prompts if replays else None
    tokens = sum(one.decoded for one in runs_of_gamma)
    baseline, seconds = timed.levels["rows", 0], timed.levels["rows", gamma] * calls / tokens
    steps = timed.steps
    expected_calls = calls if replayed is None or sentence else replayed
    predicted = expected_calls * float(steps.cost.block_seconds(gamma)) / tokens
    alpha = float(np.concatenate([chances for _, chances, _ in texts]).mean())
    low, high = timed.speed_up_interval(baseline / seconds, gamma)
    row = EngineRow(
        engine=trial.kind.name,
        engine_version=trial.version,
        target=trial.target,
        draft=trial.draft,
        prompts_hash=prompts_hash(trial.prompts),
        temperature=temperature,
        draft_temperature=0.0 if trial.request.draft_sampling == "argmax" else temperature,
        gamma=gamma,
        concurrency=concurrency,
        alpha=alpha,
        c=steps.c,
        acceptance_predicted=allowed.rates,
        acceptance_counted=counted,
        acceptance_explained=not sentence,
        audit=sentence,
        predicted_from="replay" if replays and not sentence else "counts",
        predicted_theorem8=float(improvement_factor(alpha, gamma, steps.c)),
        predicted=steps.baseline_seconds / predicted,
        measured=baseline / seconds,
        measured_low=low,
        measured_high=high,
        predicted_seconds_per_token=predicted,
        ms_per_token=1e3 * seconds,
        predicted_target_calls=replayed,
        target_calls=calls,
        block_efficiency=tokens / calls,
        accepted_fraction=counts.accepted / counts.drafted if counts.drafted > 0 else 0.0,
        tokens=tokens,
        identical_to_target=written[0] == written[1] if temperature == 0 else None,
        baseline_tokens_per_second=concurrency / baseline,
        tokens_per_second=concurrency / seconds,
    )
    # The line through all prices inherits the doubt of each.
    doubts = [
        *row_doubts(row, tokens_a_call=row.block_efficiency),
        *timed.out_of_order("priced").values(),
        *filter(None, [timed.out_of_order("rows").get(gamma)]),
    ]
    return replace(row, doubts=tuple(dict.fromkeys(doubts)))


def _along(trial: Trial, scores: Scores, gamma: int, case: Case) -> list[Along]:
    chances_by_text, way = [], trial.request.draft_sampling
    for repeat, one in enumerate(trial.runs[case]["rows", gamma]):
        texts = zip(trial.texts(one), one.completions, strict=True)
        for prompt, (text, completion) in enumerate(texts):
            which = (prompt, *completion.tokens) if case[0] == 0 else (prompt, repeat)
            chances = acceptance(*scores[text], draft_sampling=way, temperature=case[0])
            start = 0 if trial.kind.drafts_with_prompt else completion.first
            chances_by_text.append((which, chances, chances[start:]))
    return chances_by_text


def _gap(runs: Iterable[Sequence[Sequence[Text]]], scores: Scores, heat: float) -> str | None:
    """Returns how texts with speculation differ from texts without it; None if they do not.

    runs: texts by repeat and prompt, first with speculation. heat: temperature.
    """
    if heat > 0:
        return text_gap(*([[scores[text][0] for text in texts] for texts in run] for run in runs))
    written = ([(text[1], scores[text][0]) for texts in run for text in texts] for run in runs)
    return greedy_text_gap(*written)
