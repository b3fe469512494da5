"""The effect of alignment on held-out prompts: alpha, fallbacks and rollbacks, with intervals.

A trained model is more confident, so the same threshold leads to fewer large calls. Rollbacks are
therefore also compared at a threshold with as many large calls as before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimator.intervals import Interval, difference, jackknife_interval, left_out, ratio_interval
from estimator.traces.text_laws import overlaps
from reference.laws.sampling import seeded
from reference.models.model import Model
from reference.speculative import Subject
from studies.bild.loop import bild_session
from studies.bild.thresholds import Fallback, Rollback


@dataclass(frozen=True, slots=True)
class Share:
    """A ratio of sums over prompts: sum of numerators over sum of denominators."""

    numerators: tuple[float, ...]
    denominators: tuple[float, ...]

    @property
    def value(self) -> float:
        return sum(self.numerators) / sum(self.denominators)

    def interval(self) -> Interval:
        """Returns the interval of the ratio over prompts."""
        return ratio_interval(self.numerators, self.denominators)

    def change(self, other: "Share") -> Interval:
        """Returns the interval of the other's value minus this one's, on the same prompts."""
        before, after = (
            left_out(np.array(share.numerators)) / left_out(np.array(share.denominators))
            for share in (self, other)
        )
        return jackknife_interval(other.value - self.value, after - before, scale=difference)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Measures of one small model.

    alpha: mean of sum min(p, q) along texts that the large model wrote.
    fallbacks: large calls over tokens emitted by BiLD.
    rollbacks: large calls that replaced a token, over tokens emitted by BiLD.
    """

    alpha: Share
    fallbacks: Share
    rollbacks: Share


HALVINGS = 7
"""Share of the range of thresholds at which the search for a threshold stops."""


def with_as_many_calls(
    fallbacks: float, judge: Callable[[float], HeldOut]
) -> tuple[float, HeldOut]:
    """Returns the fallback threshold with the nearest share of large calls, and its measures.

    A confidence is at most 1, and a higher threshold leads to more calls, so bisection finds it.
    """
    low, high = 0.0, 1.0
    tried: list[tuple[float, HeldOut]] = []
    for _ in range(HALVINGS):
        threshold = (low + high) / 2
        given = judge(threshold)
        tried.append((threshold, given))
        if given.fallbacks.value < fallbacks:
            low = threshold
        else:
            high = threshold
    return min(tried, key=lambda one: abs(one[1].fallbacks.value - fallbacks))


def held_out(
    subject: Subject,
    small: Model,
    prompts: Sequence[Sequence[int]],
    texts: Sequence[Sequence[int]],
    *,
    fallback: float,
    rollback: float,
    seed: int,
    progress: Callable[[], object],
) -> HeldOut:
    """Returns the pair's measures on prompts that were not used in training.

    Args:
      small: the draft model, with rows as wide as the target's.
    """
    subject = replace(subject, rule=Rollback(rollback))
    policy = Fallback(fallback, end_ids=subject.stopping.end_ids)
    betas, runs = [], []
    for number, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
        betas.append(overlaps(subject.target, small, prompt, text, subject.sampling))
        generator = seeded(subject.target.device, seed, number)
        runs.append(bild_session(subject, prompt, policy, generator).finished())
        progress()
    tokens = tuple(float(len(run.tokens)) for run in runs)
    return HeldOut(
        Share(tuple(float(b.sum()) for b in betas), tuple(float(len(b)) for b in betas)),
        Share(tuple(float(run.target_calls) for run in runs), tokens),
        Share(tuple(float(run.rollbacks) for run in runs), tokens),
    )
