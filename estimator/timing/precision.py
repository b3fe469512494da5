"""Times of things in turns at one speed of the machine, their precision, and when to stop."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import expm1, hypot, inf, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimator.intervals import ratio_interval
from estimator.progress import CountedProgress, Progress
from estimator.settings import TimedPair
from estimator.timing.rates import AGAIN, BASELINE, LEAST_PROMPTS, PROBE, Timed
from reference.records import Generation

# Alternations between turns and things; the first few do most of the work.
SWEEPS = 20

Array = NDArray[np.float64]


def polish(seconds: ArrayLike, *, sweeps: int = SWEEPS) -> tuple[Array, Array]:
    """Returns each thing's seconds at the median speed, and each turn's time over the median's.

        log seconds = level of the thing + speed of the turn + noise

    Tukey's median polish separates levels from speeds, robustly against outliers (Tukey 1977). The
    results have shapes (..., things) and (..., turns). They are NaN for a thing that was never
    timed, and for a turn in which nothing was timed.

    seconds: seconds by thing and turn, shape (..., things, turns), above 0; NaN if a thing was not
      timed in a turn. Tables along the leading axes are polished separately.
    """
    left = np.log(np.asarray(seconds, dtype=np.float64))
    things, speeds = np.zeros(()), np.zeros(())
    for _ in range(sweeps):
        found = _median(left, -1)
        left, things = left - found, things + found
        moved = _median(left, -2)
        left, speeds = left - moved, speeds + moved
    middle = _median(speeds, -1)
    return np.exp(things + middle)[..., 0], np.exp(speeds - middle)[..., 0, :]


def _median(values: Array, axis: int) -> Array:
    """Returns medians along an axis, which keeps length 1; NaN is ignored, without a warning."""
    ordered, known = np.sort(values, axis=axis), ~np.isnan(values)  # NaN comes last
    count = known.sum(axis=axis, keepdims=True)
    ends = (np.maximum(count - 1, 0) // 2, count // 2)
    low, high = (np.take_along_axis(ordered, places, axis=axis) for places in ends)
    return np.asarray((low + high) / 2)


def precision_percent(texts: Timed) -> float | None:
    """Returns the timing error of measured speed-ups in per cent: half a speed-up's interval.

    Differences between prompts are not errors of the clock. So each text's seconds are divided by
    the seconds that blocks of equal draft length take on average in all texts of one decoder. The
    spread of this ratio between prompts gives the error of the sum over all prompts.

    The result is the largest error of any decoder. Decoders that were run only to measure costs are
    ignored unless there are no others. None for a single prompt.
    """
    arms = [arm for arm in texts if arm not in (BASELINE, AGAIN)]
    arms = [arm for arm in arms if not arm.startswith(PROBE)] or arms
    baseline = _reach(texts[BASELINE])
    if baseline is None:
        return None
    known = [reach for reach in (_reach(texts[arm]) for arm in arms) if reach is not None]
    return 100 * expm1(max((hypot(baseline, reach) for reach in known), default=baseline))


def _reach(texts: Sequence[Generation]) -> float | None:
    """Returns half the interval of log(a decoder's time over all texts); None for one prompt."""
    seconds: dict[int, list[float]] = defaultdict(list)
    for text in texts:
        for block in text.blocks:
            seconds[len(block.drafted)].append(block.seconds)
    means = {length: sum(each) / len(each) for length, each in seconds.items()}
    expected = [sum(means[len(block.drafted)] for block in text.blocks) for text in texts]
    if len(texts) < LEAST_PROMPTS or min(expected) <= 0:
        return None
    _, high = ratio_interval([text.decode_seconds for text in texts], expected)
    return None if high is None else log(high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """Decides when timing ends: at a precision of `percent`, or `seconds` after its creation.

    report: called with each precision that was reached, as text.
    """

    percent: float = 0.0
    seconds: float = inf
    report: Callable[[str], object] = lambda _: None
    _began: float = field(default_factory=lambda: time.monotonic())

    def late(self, seconds: float = 0.0) -> bool:
        """Returns whether too little time is left for work that takes this many seconds."""
        return time.monotonic() + seconds >= self._began + self.seconds

    def precise(self, reached: float | None) -> bool:
        """Returns whether the error `reached` (in per cent; None: unknown) is small enough."""
        if reached is not None:
            self.report(f"precise to {reached:.1f} %")
        return reached is not None and reached <= self.percent


@dataclass(frozen=True, slots=True)
class Timing:
    """How often runs are repeated and when they end.

    repeats: largest number of repeats of each run, at least 1.
    seed: random seed of the texts and of the order of runs.
    progress: called after each generated text.
    until: ends the runs early; checked before each prompt, and after each repeat of all prompts.
    """

    repeats: int = 1
    seed: int = 0
    progress: Callable[[], object] = lambda: None
    until: Until | None = None


def timings(
    request: TimedPair, *, count: int, planned: int, progress: Progress
) -> Iterator[Timing]:
    """Yields the timing of each of `count` measurements, with an equal share of the time left.

    planned: number of texts generated per measurement if all repeats run. `progress` expects them;
      after each measurement the texts that were not generated are subtracted.
    """
    end = time.monotonic() + request.timing.seconds(request.models.target)
    for left in range(count, 0, -1):
        counted = CountedProgress(progress)
        seconds = (end - time.monotonic()) / left
        until = Until(percent=request.timing.percent, seconds=seconds, report=progress.note)
        yield Timing(request.timing.repeats, request.seed, counted.step, until)
        progress.expect(counted.steps - planned)
