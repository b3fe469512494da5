"""How well a clock tells speed-ups, and when it has told enough.

What prompts differ in is no fault of the clock. So the seconds of each text are held against what
its own blocks take on average, over all prompts, at its arm and draft lengths; how far that ratio
differs between prompts says how far the sum of all would, were they timed anew.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import expm1, hypot, log

from estimator.intervals import ratio_interval
from estimator.progress import CountedProgress, Progress
from estimator.settings import TimedPair
from estimator.timing.arms import AGAIN, BASELINE, LEAST_PROMPTS, PROBE, Runs, Timing
from estimator.timing.rates import Timed, timed
from reference.records import Generation


def precision_percent(texts: Timed) -> float | None:
    """Returns how far 95 % of measured speed-ups lie at most from what the clock should have said.

    Args:
      texts: of the baseline and of others; probes are no speed-ups.

    Returns:
      The widest of all arms; None of a single prompt.
    """
    reaches = {
        arm: _reach(rows)
        for arm, rows in texts.items()
        if arm != AGAIN and (not arm.startswith(PROBE) or _only_probes(texts))
    }
    baseline = reaches.pop(BASELINE)
    if baseline is None:
        return None
    known = [reach for reach in reaches.values() if reach is not None]
    return 100 * expm1(max((hypot(baseline, reach) for reach in known), default=baseline))


def _only_probes(texts: Timed) -> bool:
    return all(arm in (BASELINE, AGAIN) or arm.startswith(PROBE) for arm in texts)


def _reach(texts: Sequence[Generation]) -> float | None:
    """Returns how far the logarithm of an arm's seconds reaches to either side."""
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


class Until:
    """Says when runs have been timed long enough: precisely, or as long as was allowed."""

    def __init__(
        self,
        *,
        percent: float = 0.0,
        seconds: float = float("inf"),
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        """Begins to count the time.

        Args:
          percent: as `precision_percent`, that is asked for.
          seconds: that may be spent.
          tell: is told what precision has been reached.
        """
        self._percent = percent
        self._end = time.monotonic() + seconds
        self._tell = tell

    def late(self) -> bool:
        """Returns whether the time is up."""
        return time.monotonic() >= self._end

    def precise(self, runs: Runs) -> bool:
        """Returns whether the runs so far, of all prompts, are as precise as was asked."""
        reached = precision_percent(timed(runs))
        if reached is None:
            return False
        self._tell(f"precise to {reached:.1f} %")
        return reached <= self._percent


def timings(
    request: TimedPair, *, count: int, planned: int, progress: Progress
) -> Iterator[Timing]:
    """Yields for each of several things to run, as it begins, its share of the time that is left.

    Args:
      request: says how often runs are timed, and how long.
      count: of things.
      planned: generations of each, if all repeats are needed.
      progress: expects these, and is told after each thing how many were not needed.
    """
    end = time.monotonic() + request.timing.seconds(request.models.target)
    for left in range(count, 0, -1):
        counted = CountedProgress(progress)
        seconds = (end - time.monotonic()) / left
        until = Until(percent=request.timing.percent, seconds=seconds, tell=progress.note)
        yield Timing(request.timing.repeats, request.seed, counted.step, until)
        progress.expect(counted.steps - planned)
