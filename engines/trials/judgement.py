"""Compares the runs of one γ with predictions from acceptance and prices."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engines.counting import NOTHING
from engines.text_scores import acceptance, greedy_text_gap, text_gap
from engines.trials.audit import Predicted, audit, predict, simulated
from engines.trials.pair import Pair
from engines.trials.row import EngineRow
from engines.trials.runs import EngineRun
from engines.trials.timing import PassTimes, speed_up_interval
from engines.trials.trial import Case, Measured, Trial
from estimator.prompts.prompts import prompts_hash
from estimator.validation.row import row_doubts
from simulator.acceptance.replay import Replay
from simulator.choice.walltime import improvement_factor

# Target and draft scores of each text, by γ and case, then by repeat and prompt.
Scores = dict[tuple[int, Case], list[list[Pair]]]


@dataclass(frozen=True, slots=True)
class Along:
    """The acceptance along a text.

    which: identity of the text; repeats of a greedy text share it.
    chances: a_t of its tokens, shape (N,).
    start: position of the first draft.
    """

    which: tuple[int, ...]
    chances: NDArray[np.float64]
    start: int

    @property
    def drafted(self) -> NDArray[np.float64]:
        """a_t from the first draft on."""
        return self.chances[self.start :]


def judge(
    trial: Trial, measured: Measured, scores: Scores, timed: PassTimes, gamma: int, case: Case
) -> EngineRow:
    """Returns the row of one γ, temperature and concurrency."""
    temperature, concurrency = case
    own, baseline_runs = measured.rows[gamma, case], measured.rows[0, case]
    gap = None if trial.request.synthetic is not None else _gap(measured, scores, gamma, case)
    # If the engine's texts are not the target's, acceptance along the target's own texts is used.
    replays = gap is None and trial.request.synthetic is None
    texts = along(trial, measured, scores, gamma if replays else 0, case)
    counts = sum((one.total for one in own), NOTHING)
    if trial.request.synthetic is not None:
        allowed = simulated(trial.request.synthetic[:gamma], drafts=counts.drafts)
    else:
        allowed = _allowed(trial, texts, gamma, resample=not replays)
    found = audit(allowed, counts, text_gap=gap)
    calls = sum(one.steps(drafts_past_end=trial.kind.drafts_past_end) for one in own)
    replayed = _calls(trial, texts, gamma) if replays else None
    tokens = sum(one.decoded for one in own)
    seconds = timed.levels["rows", gamma] * calls / tokens
    steps = timed.steps(trial.request.priced_gammas)
    expected_calls = calls if replayed is None or not found.explained else replayed
    predicted = expected_calls * float(steps.cost.block_seconds(gamma)) / tokens
    alpha = float(np.concatenate([text.chances for text in texts]).mean())
    baseline = timed.levels["rows", 0]
    low, high = speed_up_interval(baseline / seconds, trial.kind, timed, own, gamma, case)
    row = EngineRow(
        engine=trial.kind.name,
        engine_version=measured.version,
        target=trial.target,
        draft=trial.draft,
        prompts_hash=prompts_hash(trial.prompts),
        temperature=temperature,
        draft_temperature=0.0 if trial.request.draft_sampling == "argmax" else temperature,
        gamma=gamma,
        concurrency=concurrency,
        alpha=alpha,
        c=steps.c,
        acceptance_predicted=found.predicted,
        acceptance_counted=found.counted,
        acceptance_explained=found.explained,
        audit=found.sentence,
        predicted_from="replay" if replays and found.explained else "counts",
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
        identical_to_target=_identical(own, baseline_runs) if temperature == 0 else None,
        baseline_tokens_per_second=concurrency / baseline,
        tokens_per_second=concurrency / seconds,
    )
    return replace(row, doubts=_doubts(timed, row))


def _doubts(timed: PassTimes, row: EngineRow) -> tuple[str, ...]:
    found = dict.fromkeys(row_doubts(row, tokens_a_call=row.block_efficiency))
    # The line through all prices inherits the doubt of each.
    found |= dict.fromkeys(timed.shrinking("priced").values())
    found |= dict.fromkeys(filter(None, [timed.shrinking("rows").get(row.gamma)]))
    return tuple(found)


def along(trial: Trial, measured: Measured, scores: Scores, gamma: int, case: Case) -> list[Along]:
    """Returns the acceptance along every text of a γ."""
    found, way = [], trial.request.draft_sampling
    runs = zip(measured.rows[gamma, case], scores[gamma, case], strict=True)
    for repeat, (one, pairs) in enumerate(runs):
        for prompt, (text, pair) in enumerate(zip(one.completions, pairs, strict=True)):
            which = (prompt, *text.tokens) if case[0] == 0 else (prompt, repeat)
            chances = acceptance(*pair, draft_sampling=way, temperature=case[0])
            start = 0 if trial.kind.drafts_with_prompt else text.first
            found.append(Along(which, chances, start))
    return found


def _gap(measured: Measured, scores: Scores, gamma: int, case: Case) -> str | None:
    """Returns how an engine's texts differ from the target's own; None if they do not."""
    if case[0] > 0:
        return text_gap(
            *([[target for target, _ in pairs] for pairs in scores[each, case]]
              for each in (gamma, 0))
        )  # fmt: skip
    own, baseline = (
        [
            (text.tokens, target)
            for one, pairs in zip(measured.rows[each, case], scores[each, case], strict=True)
            for text, (target, _) in zip(one.completions, pairs, strict=True)
        ]
        for each in (gamma, 0)
    )
    return greedy_text_gap(own, baseline)


def _allowed(trial: Trial, texts: Sequence[Along], gamma: int, *, resample: bool) -> Predicted:
    """Returns the acceptance that the models allow, by position."""
    drafted = {text.which: text.drafted for text in texts}
    times = Counter(text.which for text in texts)
    return predict(
        list(drafted.values()),
        times=[times[which] for which in drafted],
        gamma=gamma,
        drafts_past_end=trial.kind.drafts_past_end,
        resample=resample,
        generator=np.random.default_rng((trial.request.seed, gamma)),
    )


def _calls(trial: Trial, texts: Sequence[Along], gamma: int) -> float:
    return sum(
        float(Replay(text.drafted).calls(gamma)) - trial.kind.drafts_with_prompt for text in texts
    )


def _identical(own: Sequence[EngineRun], baseline_runs: Sequence[EngineRun]) -> bool:
    """Returns whether all texts are the target's own, id for id."""
    return all(
        text.tokens == other.tokens
        for one, before in zip(own, baseline_runs, strict=True)
        for text, other in zip(one.completions, before.completions, strict=True)
    )
