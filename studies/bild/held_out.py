"""The effect of alignment on held-out prompts: alpha, fallbacks and rollbacks, with intervals.

A trained model is more confident, so the same threshold leads to fewer large calls. Rollbacks are
therefore also compared at a threshold with as many large calls as before.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import difference, jackknife_interval, left_out, ratio_interval
from estimator.progress import Progress
from reference.drafter import score_text
from reference.laws import seeded
from reference.scoring import ScoreOptions
from reference.speculative import Subject
from reference.training.alignment import Lesson
from simulator.numerics.intervals import CONFIDENCE
from studies.bild.decoder import Fallback, Rollback, bild_session

HeldOut = dict[str, NDArray[np.float64]]
"""Shares of one small model on held-out prompts, each as numerators and denominators, (2, prompts).

alpha: mean of sum min(p, q) along texts that the large model wrote.
fallbacks: large calls over tokens emitted by BiLD.
rollbacks: large calls that replaced a token, over tokens emitted by BiLD.
"""

HALVINGS = 7  # steps of the search for a threshold


def held_out(
    subject: Subject,
    lessons: Sequence[Lesson],
    rollback: Rollback,
    fallback: float,
    *,
    seed: int,
    progress: Progress,
) -> HeldOut:
    """Returns a pair's acceptance rate, fallbacks and rollbacks on held-out prompts (`HeldOut`).

    lessons: prompts that were not used in training, each with the large model's text.
    rollback, fallback: BiLD's acceptance rule, and the certainty below which a draft ends.
    """
    progress.expect(len(lessons))
    sampling, options = subject.sampling, ScoreOptions([subject.sampling], (), 1)
    subject = replace(subject, rule=rollback)
    policy = Fallback(fallback, end_ids=subject.stopping.end_ids)
    betas, runs = [], []
    for number, lesson in enumerate(lessons):
        models, text = (subject.target, subject.drafter), (lesson.prompt, lesson.output)
        [scores] = score_text(*models, *text, options, sampling=sampling)
        betas.append(scores.beta)
        generator = seeded(subject.target.device, seed, number)
        runs.append(bild_session(subject, lesson.prompt, policy, generator).finished())
        progress.step()
    tokens = [len(run.tokens) for run in runs]
    return {
        "alpha": np.array([[float(of.sum()) for of in betas], [len(of) for of in betas]]),
        "fallbacks": np.array([[run.target_calls for run in runs], tokens], float),
        "rollbacks": np.array([[run.rollbacks for run in runs], tokens], float),
    }


def _value(share: NDArray[np.float64]) -> float:
    numerator, denominator = map(sum, share.tolist())
    return float(numerator / denominator)


def changes(before: HeldOut, judge: Callable[[float], HeldOut], fallback: float) -> dict[str, Any]:
    """Returns how training changed the measures of `HeldOut`, each with an interval.

    They are compared at one fallback threshold, and also at the threshold at which the trained pair
    makes as many large calls per token as the untrained pair made.

    before: measures before training, at the threshold `fallback`.
    judge: returns the measures after training at the threshold that it is given.
    """
    after = judge(fallback)
    equal_fallback, equal = _with_as_many_calls(_value(before["fallbacks"]), judge)
    rollbacks = {name: _compared(before[name], equal[name]) for name in ("fallbacks", "rollbacks")}
    return {name: _compared(before[name], after[name]) for name in before} | {
        "confidence": CONFIDENCE,
        "as_many_calls": {"fallback": equal_fallback, **rollbacks},
    }


def _with_as_many_calls(
    fallbacks: float, judge: Callable[[float], HeldOut]
) -> tuple[float, HeldOut]:
    """Returns the threshold whose large calls per token are nearest `fallbacks`, measured there."""
    threshold, tried = 0.5, []  # bisects [0, 1]: a higher threshold means more large calls
    for halving in range(HALVINGS):
        given = judge(threshold)
        tried.append((threshold, given))
        step = 0.25 / 2**halving
        threshold += step if _value(given["fallbacks"]) < fallbacks else -step
    return min(tried, key=lambda one: abs(_value(one[1]["fallbacks"]) - fallbacks))


def _compared(before: NDArray[np.float64], after: NDArray[np.float64]) -> dict[str, Any]:
    """Returns one measure before and after training, and its change, each with an interval."""
    shares = (before, after)
    change = _value(after) - _value(before)
    first, then = (left_out(share[0]) / left_out(share[1]) for share in shares)
    parts = [(_value(share), *ratio_interval(*share.tolist())) for share in shares]
    parts.append((change, *jackknife_interval(change, then - first, scale=difference)))
    names = ("value", "low", "high")
    return {
        when: dict(zip(names, numbers, strict=True))
        for when, numbers in zip(("before", "after", "change"), parts, strict=True)
    }
