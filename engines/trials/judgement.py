"""From the runs of an engine to a row: what its models' laws and prices say beside what it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engines.counting.counts import NOTHING
from engines.engine import Completion
from engines.kind import EngineKind
from engines.scores.text_gap import Text, greedy_text_gap, text_gap
from engines.scores.text_scores import acceptance
from engines.trials.audit import Predicted, audit, feigned, predict
from engines.trials.levels import Timed
from engines.trials.resampling import speed_up_interval
from engines.trials.row import Row
from engines.trials.runs import Run
from engines.trials.scoring import Pair
from engines.trials.steps import Steps
from engines.trials.trial import Case, Measured, Trial
from simulator.acceptance.replay import expected_calls
from simulator.choice.walltime import improvement_factor

# Runs, and the scores of their texts, by repeat, then prompt.
Scored = tuple[Sequence[Run], Sequence[Sequence[Pair]]]
Chances = list[list[NDArray[np.float64]]]


def judge(
    trial: Trial,
    measured: Measured,
    pairs: dict[tuple[int, Case], list[list[Pair]]],
    gamma: int,
    case: Case,
    steps: Steps,
    timed: Timed,
    *,
    draft: str,
) -> Row:
    """Returns the row of one γ, temperature and concurrency.

    Args:
      trial, measured: what was run.
      pairs: scores of all rows' texts, by γ and case, repeat, prompt.
      gamma, case: of the row.
      steps: prices, from other prompts.
      timed: what steps took.
      draft: its name.
    """
    temperature, concurrency = case
    own, alone = measured.rows[gamma, case], measured.rows[0, case]
    gap = None
    if trial.synthetic is None:
        gap = _text_gap(
            (own, pairs[gamma, case]), (alone, pairs[0, case]), greedy=temperature == 0
        )
    source = own if gap is None and trial.synthetic is None else alone
    chances = [
        [
            acceptance(
                target, scored, draft_sampling=trial.draft_sampling, temperature=temperature
            )
            for target, scored in texts
        ]
        for texts in pairs[gamma if source is own else 0, case]
    ]
    total = sum((one.total for one in own), NOTHING)
    allowed = _allowed(
        trial,
        chances,
        source,
        gamma,
        drafts=total.drafts,
        greedy=temperature == 0,
        resample=source is alone,
    )
    found = audit(allowed, total, text_gap=gap)
    calls = sum(one.steps(drafts_past_end=trial.kind.drafts_past_end) for one in own)
    replayed = _calls(trial.kind, chances, source, gamma) if source is own else None
    tokens = sum(one.decoded for one in own)
    measured_seconds = timed.levels["rows", gamma] * calls / tokens
    step = float(steps.cost.block_seconds(gamma))
    by_replay = replayed is not None and found.explained
    predicted = (replayed if by_replay and replayed is not None else calls) * step / tokens
    alpha = float(np.concatenate([one for texts in chances for one in texts]).mean())
    baseline = timed.levels["rows", 0]
    measured_speed_up = baseline / measured_seconds
    low, high = speed_up_interval(measured_speed_up, trial.kind, timed, own, gamma, case)
    return Row(
        engine=trial.kind.name,
        engine_version=measured.version,
        draft=draft,
        temperature=temperature,
        draft_temperature=0.0 if trial.draft_sampling == "argmax" else temperature,
        policy="fixed",
        gamma=gamma,
        concurrency=concurrency,
        alpha=alpha,
        c=steps.c,
        acceptance_predicted=found.predicted,
        acceptance_counted=found.counted,
        acceptance_explained=found.explained,
        audit=found.sentence,
        predicted_from="replay" if by_replay else "counts",
        predicted_theorem8=float(improvement_factor(alpha, gamma, steps.c)),
        predicted_calibrated=steps.baseline_seconds / predicted,
        measured=measured_speed_up,
        measured_low=low,
        measured_high=high,
        predicted_seconds_per_token=predicted,
        seconds_per_token=measured_seconds,
        predicted_target_calls=replayed,
        target_calls=calls,
        block_efficiency=tokens / calls,
        accepted_fraction=total.accepted_tokens / total.drafted if total.drafted > 0 else 0.0,
        tokens=tokens,
        identical_to_target=_identical(own, alone) if temperature == 0 else None,
        baseline_tokens_per_second=concurrency / baseline,
        tokens_per_second=concurrency / measured_seconds,
    )


def _text_gap(own: Scored, alone: Scored, *, greedy: bool) -> str | None:
    """Returns how an engine's texts differ from the target's own; None where they do not."""
    if not greedy:
        return text_gap(
            *([[target for target, _ in texts] for texts in pairs] for _, pairs in (own, alone))
        )
    return greedy_text_gap(_greedy_texts(own), _greedy_texts(alone))


def _greedy_texts(scored: Scored) -> list[Text]:
    return [
        (text.tokens, target)
        for one, texts in zip(*scored, strict=True)
        for text, (target, _) in zip(one.completions, texts, strict=True)
    ]


def _allowed(
    trial: Trial,
    chances: Chances,
    source: Sequence[Run],
    gamma: int,
    *,
    drafts: int,
    greedy: bool,
    resample: bool,
) -> Predicted:
    """Returns what the laws allow, or what is to be feigned, by position."""
    if trial.synthetic is not None:
        return feigned(trial.synthetic[:gamma], drafts=drafts)
    drafted: dict[tuple[int, ...], NDArray[np.float64]] = {}
    times: Counter[tuple[int, ...]] = Counter()
    for repeat, (texts, one) in enumerate(zip(chances, source, strict=True)):
        for prompt, (rates, text) in enumerate(zip(texts, one.completions, strict=True)):
            same = (prompt, *text.tokens) if greedy else (prompt, repeat)
            drafted[same] = rates[_start(trial.kind, text) :]
            times[same] += 1
    return predict(
        list(drafted.values()),
        times=list(times.values()),
        gamma=gamma,
        drafts_past_end=trial.kind.drafts_past_end,
        resample=resample,
        generator=np.random.default_rng((trial.seed, gamma)),
    )


def _start(kind: EngineKind, text: Completion) -> int:
    """Returns where in a text the first draft begins."""
    return 0 if kind.drafts_with_prompt else text.first


def _calls(kind: EngineKind, chances: Chances, runs: Sequence[Run], gamma: int) -> float:
    """Returns the expected target passes after those over the prompts."""
    total = 0.0
    for texts, one in zip(chances, runs, strict=True):
        for rates, text in zip(texts, one.completions, strict=True):
            drafted = rates[_start(kind, text) :]
            total += float(expected_calls(drafted, gamma)) - kind.drafts_with_prompt
    return total


def _identical(own: Sequence[Run], alone: Sequence[Run]) -> bool:
    """Returns whether every id of every text is the target's own."""
    return all(
        text.tokens == other.tokens
        for one, before in zip(own, alone, strict=True)
        for text, other in zip(one.completions, before.completions, strict=True)
    )
