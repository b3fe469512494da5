"""What alignment changes on held-out prompts: alpha, fallbacks and rollbacks, with intervals.

A model that was taught is surer of itself, so one threshold no longer means as many large calls;
rollbacks are also compared where these are as many as before.
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
    """A ratio of sums over prompts: summed numerators over summed denominators."""

    numerators: tuple[float, ...]
    denominators: tuple[float, ...]

    @property
    def value(self) -> float:
        return sum(self.numerators) / sum(self.denominators)

    def interval(self) -> Interval:
        """Returns the interval over prompts."""
        return ratio_interval(self.numerators, self.denominators)

    def change(self, other: "Share") -> Interval:
        """Returns the interval of other's value less this one's, on the same prompts."""
        before, after = (
            left_out(np.array(share.numerators)) / left_out(np.array(share.denominators))
            for share in (self, other)
        )
        return jackknife_interval(other.value - self.value, after - before, scale=difference)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Of one small model.

    alpha: mean of sum min(p, q) along texts that the large model wrote.
    fallbacks, rollbacks: large calls, and those that replaced a token, over BiLD's tokens.
    """

    alpha: Share
    fallbacks: Share
    rollbacks: Share


HALVINGS = 7
"""Of the range of thresholds, in search of one: to a hundredth and less."""


def with_as_many_calls(
    fallbacks: float, judge: Callable[[float], HeldOut]
) -> tuple[float, HeldOut]:
    """Returns the fallback threshold with the nearest share of large calls, and what it gives.

    Certainties are at most 1 and a higher threshold is undercut more often, so halving finds it.
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
    """Returns what the pair does on prompts that no training saw.

    Args:
      small: its draft model, whose rows are as wide as the target's.
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
