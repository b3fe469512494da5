"""Times of a token by batch, from log lines that state throughput and running requests.

A server's line counts the tokens of an interval, and the requests that run at its end. Requests
that start or end within an interval, prompts, and idle time blur a line, so a batch takes the
median of its lines.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median, stdev
from typing import NamedTuple

from engines.counting import Timed
from simulator.cost.fitted.runs import USUAL_ERROR

# How much larger the standard error of a median is than of a mean; the error of one line.
_MEDIAN, _ONE_LINE = 1.25, 0.1
# Most requests at one end of a steady interval over those at the other.
_STEADY = 1.25


class LogInterval(NamedTuple):
    """The throughput of one engine that a line of a log states.

    engine: which of a server's engines wrote it.
    running: number of requests that run at the end of the line's interval.
    tokens_per_second: tokens of all requests together, over the interval.
    length: mean tokens per target call in the interval; None if the line does not state it.
    """

    engine: str
    running: int
    tokens_per_second: float
    length: float | None = None


class AtBatch(NamedTuple):
    """Times of one batch size.

    lines: number of lines of the log with this batch.
    seconds_per_token: between two tokens of one request, median over the lines.
    error: relative standard error of seconds_per_token.
    length: mean tokens per target call; None if no line states it.
    """

    batch: int
    lines: int
    seconds_per_token: float
    error: float
    length: float | None

    @property
    def ms(self) -> float:
        return 1e3 * self.seconds_per_token

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second of all requests together."""
        return self.batch / self.seconds_per_token


@dataclass(frozen=True, slots=True)
class LogTimes(Timed):
    """Times of a log's lines; those at the batch with the most lines stand for all.

    lines: all lines, in the order of the log.
    """

    lines: tuple[LogInterval, ...] = ()

    @classmethod
    def of(cls, lines: Sequence[LogInterval]) -> LogTimes | None:
        """Returns the times of these lines; None if no token was timed."""
        batches = by_batch(lines)
        if not batches:
            return None
        usual = max(batches, key=lambda batch: (batch.lines, batch.batch))
        # A log does not state how long an interval was: one token stands for a line's.
        seconds = usual.seconds_per_token * usual.lines
        return cls(seconds, usual.lines, usual.batch, tuple(lines))

    def __add__(self, other: Timed) -> Timed:
        times = LogTimes.of(self.lines + lines_of(other))
        return self if times is None else times

    def since(self, earlier: Timed) -> Timed | None:
        return LogTimes.of(self.lines[len(lines_of(earlier)) :])


def lines_of(timed: Timed | None) -> tuple[LogInterval, ...]:
    """Returns a log's lines; empty if the times are of another source."""
    return timed.lines if isinstance(timed, LogTimes) else ()


def by_batch(lines: Sequence[LogInterval]) -> tuple[AtBatch, ...]:
    """Returns the times at each batch size, smallest batch first.

    The batch of an interval is the mean of the requests that run at its two ends, rounded. Only
    intervals with about as many requests at both ends count. If there are none, each line counts
    with the requests at its end, although it may cover a server's start.
    """
    lines_by_batch = defaultdict(list)
    for batch, line in _steady(lines) or [(line.running, line) for line in lines]:
        if batch > 0 and line.tokens_per_second > 0:
            lines_by_batch[batch].append(line)
    return tuple(_at_batch(batch, lines_by_batch[batch]) for batch in sorted(lines_by_batch))


def _steady(lines: Sequence[LogInterval]) -> list[tuple[int, LogInterval]]:
    """Returns the intervals with about as many requests at both ends, and their mean number."""
    by_engine = defaultdict(list)
    for line in lines:
        by_engine[line.engine].append(line)
    pairs = [pair for engine_lines in by_engine.values() for pair in pairwise(engine_lines)]
    ends = [(sorted((before.running, line.running)), line) for before, line in pairs]
    return [
        (round((low + high) / 2), line)
        for (low, high), line in ends
        if low > 0 and high <= max(_STEADY * low, low + 1)
    ]


def _at_batch(batch: int, lines: Sequence[LogInterval]) -> AtBatch:
    seconds = [batch / line.tokens_per_second for line in lines]
    error = _ONE_LINE / math.sqrt(len(lines))
    if len(lines) > 2:
        error = _MEDIAN * stdev(map(math.log, seconds)) / math.sqrt(len(lines))
    lengths = [line.length for line in lines if line.length is not None]
    length = fmean(lengths) if lengths else None
    return AtBatch(batch, len(lines), median(seconds), max(USUAL_ERROR, error), length)
