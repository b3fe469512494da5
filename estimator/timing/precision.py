"""Times of tasks at one speed of the machine, their precision, and when to stop timing."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import expm1, hypot, inf, log
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimator.intervals import ratio_interval
from estimator.progress import Progress, counted
from estimator.settings import TimedPair
from estimator.timing.rates import AGAIN, BASELINE, LEAST_PROMPTS, PROBE, Timed, both_baselines
from reference.records import Generation
from simulator.numerics.intervals import median

# Alternations between turns and tasks; the first few do most of the work.
SWEEPS = 20

Array = NDArray[np.float64]
Arm = TypeVar("Arm")
Task = TypeVar("Task")


def polish(seconds: ArrayLike, *, sweeps: int = SWEEPS) -> tuple[Array, Array]:
    """Returns each task's seconds in a median turn, and each turn's time divided by the median's.

        log seconds = level of the task + slowness of the turn + noise

    A turn is a short period in which several tasks are timed. Tukey's median polish separates
    levels from slowness, robustly against outliers (Tukey 1977). The results have shapes (...,
    tasks) and (..., turns). They are NaN for a task or a turn without times.

    seconds: seconds by task and turn, shape (..., tasks, turns), above 0; NaN if a task was not
      timed in a turn. Tables along the leading axes are polished separately.
    """
    left = np.log(np.asarray(seconds, dtype=np.float64))
    middle_of = _median_of_known if np.isnan(left).any() else _median
    tasks, slowness = np.zeros(()), np.zeros(())
    for _ in range(sweeps):
        medians = middle_of(left, -1)
        left, tasks = left - medians, tasks + medians
        moved = middle_of(left, -2)
        left, slowness = left - moved, slowness + moved
    middle = middle_of(slowness, -1)
    return np.exp(tasks + middle)[..., 0], np.exp(slowness - middle)[..., 0, :]


def _median(values: Array, axis: int) -> Array:
    """Returns medians along an axis, which keeps length 1."""
    return np.expand_dims(median(values, axis), axis)


def _median_of_known(values: Array, axis: int) -> Array:
    """Returns medians along an axis, which keeps length 1; NaN is ignored, without a warning."""
    known = ~np.isnan(values)
    ordered = np.sort(values, axis=axis)  # NaN comes last
    count = known.sum(axis=axis, keepdims=True)
    ends = (np.maximum(count - 1, 0) // 2, count // 2)
    low, high = (np.take_along_axis(ordered, places, axis=axis) for places in ends)
    return np.asarray((low + high) / 2)


def precision_percent(texts: Timed) -> float | None:
    """Returns the timing error of speed-ups in per cent: half the width of a speed-up's interval.

    Prompts differ, which is no timing error. So each text's seconds are divided by the seconds that
    its blocks would take at the decoder's mean time per block of their draft length. The spread of
    this ratio between prompts gives the error of the sum over all prompts.

    The result is the largest error of any decoder. Decoders that were run only to measure costs are
    ignored unless there are no others; then both baselines count together. None for a single
    prompt.
    """
    arms = [arm for arm in texts if arm not in (BASELINE, AGAIN)]
    others = [arm for arm in arms if not arm.startswith(PROBE)]
    arms = others or arms
    baseline = _half_width(texts[BASELINE] if others else both_baselines(texts)[AGAIN])
    if baseline is None:
        return None
    known = [half for half in (_half_width(texts[arm]) for arm in arms) if half is not None]
    return 100 * expm1(max((hypot(baseline, half) for half in known), default=baseline))


def _half_width(texts: Sequence[Generation]) -> float | None:
    """Returns half the width of the interval of log(time of all texts); None for one prompt."""
    seconds: dict[int, list[float]] = defaultdict(list)
    for text in texts:
        for block in text.blocks:
            seconds[len(block.drafted)].append(block.seconds)
    means = {length: sum(times) / len(times) for length, times in seconds.items()}
    expected = [sum(means[len(block.drafted)] for block in text.blocks) for text in texts]
    if len(texts) < LEAST_PROMPTS or min(expected) <= 0:
        return None
    _, high = ratio_interval([text.decode_seconds for text in texts], expected)
    return None if high is None else log(high)


@dataclass(frozen=True, slots=True)
class Timing:
    """How often runs are repeated, in which turns, and when they end.

    repeats: largest number of repeats of each run, at least 1.
    seed: random seed of the texts and of the order of runs.
    progress: called after each generated text.
    percent: timing error, in per cent, at which repeats end.
    seconds: time limit, counted from the creation of this record.
    report: called with each precision that was reached, as text.
    """

    repeats: int = 1
    seed: int = 0
    progress: Callable[[], object] = lambda: None
    percent: float = 0.0
    seconds: float = inf
    report: Callable[[str], object] = lambda _: None
    _began: float = field(default_factory=lambda: time.monotonic())

    def turns(
        self,
        tasks: Sequence[Task],
        arms: Sequence[Arm],
        order: np.random.Generator,
        *,
        exact: Callable[[], bool],
        least: int = LEAST_PROMPTS,
    ) -> Iterator[tuple[int, Task, list[Arm]]]:
        """Yields the repeat, the task and the arms in random order, for each turn to run.

        Every arm runs every task in each repeat. If the time is up in the first repeat, the other
        tasks are left out. A further repeat begins only if as much time is left as the last one
        took.

        exact: called after each repeat; returns whether the times are exact enough.
        least: number of tasks that run even after the time limit.
        """
        took = 0.0
        for repeat in range(self.repeats):
            began = time.monotonic()
            if repeat > 0 and self.late(took):
                return
            for number, task in enumerate(tasks):
                if repeat == 0 and number >= least and self.late():
                    break
                yield repeat, task, [arms[position] for position in order.permutation(len(arms))]
            took = time.monotonic() - began
            if exact():
                return

    def late(self, seconds: float = 0.0) -> bool:
        """Returns whether too little time is left for work that takes this many seconds."""
        return time.monotonic() + seconds >= self._began + self.seconds

    def precise(self, reached: float | None) -> bool:
        """Returns whether the error `reached` (in per cent; None: unknown) is small enough."""
        if reached is not None:
            self.report(f"precise to {reached:.1f} %")
        return reached is not None and reached <= self.percent


def timings(
    request: TimedPair, *, count: int, planned: int, progress: Progress
) -> Iterator[Timing]:
    """Yields the timing of each of `count` measurements, which share the remaining time equally.

    planned: number of texts that a measurement generates if all repeats run. The caller has added
      them to `progress`; after each measurement, the texts that it skipped are subtracted.
    """
    end = time.monotonic() + request.timing.seconds(request.models.target)
    for left in range(count, 0, -1):
        with counted(progress, planned) as step:
            known = (request.timing.repeats, request.seed, step, request.timing.percent)
            yield Timing(*known, (end - time.monotonic()) / left, progress.note)
