"""How fast interleaved runs were, and how far the baseline's clock differs from itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import Interval, left_out, ratio_interval, student
from estimator.runs.arms import AGAIN, BASELINE
from estimator.runs.repeats import Timed
from reference.records import Generation

Seconds = NDArray[np.float64]

# Per cent by which the baseline's speed may differ from itself on a machine called quiet.
QUIET_PERCENT = 10.0


def decode_rate(texts: Sequence[Generation]) -> Seconds:
    """Returns each text's seconds per token; shape (prompts,)."""
    return np.array([text.decode_seconds / len(text.tokens) for text in texts])


def measured_interval(texts: Timed, arm: str) -> Interval:
    """Returns the interval of an arm's measured speed-up, over prompts."""
    baseline, own = _seconds(texts, arm)
    return ratio_interval(baseline.tolist(), own.tolist())


def measured_left_out(texts: Timed, arm: str) -> tuple[float, ...]:
    """Returns an arm's measured speed-up without each prompt in turn; nothing of a single one."""
    baseline, own = _seconds(texts, arm)
    if len(own) < 2:
        return ()
    return tuple((left_out(baseline) / left_out(own)).tolist())


def _seconds(texts: Timed, arm: str) -> tuple[Seconds, Seconds]:
    """Returns each prompt's seconds of the baseline, had it an arm's text, and of that arm."""
    tokens = np.array([len(text.tokens) for text in texts[arm]])
    return decode_rate(texts[BASELINE]) * tokens, decode_rate(texts[arm]) * tokens


@dataclass(frozen=True, slots=True)
class Noise:
    """The baseline's speed measured twice: equal work, so what differs is the clock's.

    logarithm: of the first over the second.
    error: its standard deviation, from how far prompts differ, each about 0.
    prompts: how many those are, and with them its degrees of freedom.
    """

    logarithm: float
    error: float
    prompts: int

    @property
    def percent(self) -> float:
        """How far the two differ."""
        return 100 * abs(self.logarithm)

    @property
    def within_percent(self) -> float:
        """How far 95 % of such differences reach."""
        return 100 * float(np.expm1(student(self.prompts) * self.error))

    @property
    def quiet(self) -> bool:
        """Whether neither is more than QUIET_PERCENT."""
        return max(self.percent, self.within_percent) <= QUIET_PERCENT


def noise(texts: Timed) -> Noise:
    """Returns how far the baseline's speed differs from itself."""
    baseline, again = (decode_rate(texts[arm]) for arm in (BASELINE, AGAIN))
    differences = 2 * (baseline - again) / (baseline + again).sum()
    return Noise(
        logarithm=float(np.log(baseline.sum() / again.sum())),
        error=float(np.sqrt((differences**2).sum())),
        prompts=len(baseline),
    )
