"""The effect of alignment on held-out prompts: alpha, fallbacks and rollbacks, with intervals.

A trained model is more confident, so the same threshold leads to fewer large calls. Rollbacks are
therefore also compared at a threshold with as many large calls as before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimator.intervals import Interval, difference, jackknife_interval, left_out, ratio_interval
from estimator.progress import Progress
from reference.laws import seeded
from reference.score_text import score_text
from reference.scoring import ScoreOptions
from reference.speculative import Subject
from reference.training.alignment import Lesson
from simulator.numerics.intervals import CONFIDENCE
from studies.bild.decoder import Fallback, Rollback, bild_session


@dataclass(frozen=True, slots=True)
class Share:
    """A ratio of sums over prompts: sum of numerators over sum of denominators."""

    numerators: tuple[float, ...]
    denominators: tuple[float, ...]

    @property
    def value(self) -> float:
        return sum(self.numerators) / sum(self.denominators)

    @property
    def measured(self) -> tuple[float, float | None, float | None]:
        """The ratio with its interval over prompts."""
        return self.value, *ratio_interval(self.numerators, self.denominators)

    def change(self, other: "Share") -> Interval:
        """Returns the interval of another share minus this share, over the same prompts."""
        before, after = (
            left_out(np.array(share.numerators)) / left_out(np.array(share.denominators))
            for share in (self, other)
        )
        return jackknife_interval(other.value - self.value, after - before, scale=difference)


HeldOut = dict[str, Share]
"""Measures of one small model on held-out prompts.

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
    """Returns the measures of a pair; its drafter is the model in training.

    lessons: prompts that were not used in training, each with the large model's text.
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
    tokens = tuple(float(len(run.tokens)) for run in runs)
    return {
        "alpha": Share(tuple(float(b.sum()) for b in betas), tuple(float(len(b)) for b in betas)),
        "fallbacks": Share(tuple(float(run.target_calls) for run in runs), tokens),
        "rollbacks": Share(tuple(float(run.rollbacks) for run in runs), tokens),
    }


def changes(before: HeldOut, judge: Callable[[float], HeldOut], fallback: float) -> dict[str, Any]:
    """Returns measures before and after training, at one threshold and at equal large calls.

    judge: returns the measures after training at a fallback threshold.
    """
    after = judge(fallback)
    equal_fallback, equal = _with_as_many_calls(before["fallbacks"].value, judge)
    rollbacks = {name: _compared(before[name], equal[name]) for name in ("fallbacks", "rollbacks")}
    return {name: _compared(before[name], after[name]) for name in before} | {
        "confidence": CONFIDENCE,
        "as_many_calls": {"fallback": equal_fallback, **rollbacks},
    }


def _with_as_many_calls(
    fallbacks: float, judge: Callable[[float], HeldOut]
) -> tuple[float, HeldOut]:
    """Returns the fallback threshold whose share of large calls is nearest to `fallbacks`.

    Also returns its measures. Bisects [0, 1], because a higher threshold means more large calls.
    """
    threshold, tried = 0.5, []
    for halving in range(HALVINGS):
        given = judge(threshold)
        tried.append((threshold, given))
        step = 0.25 / 2**halving
        threshold += step if given["fallbacks"].value < fallbacks else -step
    return min(tried, key=lambda one: abs(one[1]["fallbacks"].value - fallbacks))


def _compared(before: Share, after: Share) -> dict[str, Any]:
    """Returns a share before and after training, and its change, each with an interval."""
    change = (after.value - before.value, *before.change(after))
    parts = {"before": before.measured, "after": after.measured, "change": change}
    names = ("value", "low", "high")
    return {when: dict(zip(names, values, strict=True)) for when, values in parts.items()}
