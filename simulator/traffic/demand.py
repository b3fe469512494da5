"""The load of a server: requests that arrive, when they were served, and latency targets."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.arguments import integer, non_negative

MOST_REQUESTS = 10_000_000
# Share of the requests, the first ones, that met a server emptier than later.
_WARM_UP = 0.1
# Names of the columns of a trace; the second name of each is in Azure's public traces.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "time": ("time", "timestamp", "arrival_time"),
    "prompt_tokens": ("prompt_tokens", "contexttokens", "input_tokens"),
    "output_tokens": ("output_tokens", "generatedtokens", "completion_tokens"),
}


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests in order of arrival.

    seconds: arrival times, rising, shape (n,).
    prompt_tokens, output_tokens: at least 1, shape (n,).
    """

    seconds: NDArray[np.float64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.seconds) == 0:
            raise ValueError("trace must have at least one request, got none")
        non_negative("time of a request", self.seconds)
        backwards = np.flatnonzero(np.diff(self.seconds) < 0)
        if len(backwards) > 0:
            at = int(backwards[0])
            raise ValueError(
                f"trace must be sorted by time, got {self.seconds[at + 1]:g} after "
                f"{self.seconds[at]:g}"
            )
        for name in ("prompt_tokens", "output_tokens"):
            values = getattr(self, name)
            if values.min() < 1:
                raise ValueError(f"{name} of a request must be at least 1, got {values.min()}")

    @property
    def rate(self) -> float:
        """Requests per second.

        Raises ValueError if all requests arrived at once.
        """
        span = float(self.seconds[-1] - self.seconds[0])
        if span <= 0:
            raise ValueError("trace must last longer than 0 seconds, or --rate be given")
        return (len(self.seconds) - 1) / span

    def at(self, rate: float) -> Requests:
        """Returns the requests with arrival times scaled to a rate in requests per second."""
        stretched = (self.seconds - self.seconds[0]) * (self.rate / rate)
        return Requests(stretched, self.prompt_tokens, self.output_tokens)

    @property
    def demand(self) -> Demand:
        """Mean lengths of prompts and outputs, and their spread."""
        prompts, outputs = self.prompt_tokens, self.output_tokens
        return Demand(
            float(prompts.mean()),
            float(outputs.mean()),
            prompt_spread=float(prompts.std() / prompts.mean()),
            output_spread=float(outputs.std() / outputs.mean()),
        )


@dataclass(frozen=True, slots=True)
class Demand:
    """Mean lengths of requests.

    prompt_tokens, output_tokens: means, at least 1.
    prompt_spread, output_spread: standard deviations over means.
    """

    prompt_tokens: float
    output_tokens: float
    prompt_spread: float = 0.0
    output_spread: float = 0.0

    def __post_init__(self) -> None:
        for name in ("prompt_tokens", "output_tokens"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name):g}")

    @property
    def context(self) -> float:
        """Tokens in a sequence's cache, averaged over its decoding."""
        return self.prompt_tokens + self.output_tokens / 2

    def arrivals(self, rate: float, count: int, *, seed: int) -> Requests:
        """Returns Poisson arrivals of requests with the mean lengths.

        Args:
          rate: requests per second, above 0.
          count: number of requests, at least 1.
          seed: seed of the arrival times.
        """
        number = integer("requests", count, at_least=1)
        gaps = np.random.default_rng(seed).exponential(1 / rate, number)
        lengths = (round(self.prompt_tokens), round(self.output_tokens))
        prompts, outputs = (np.full(number, length) for length in lengths)
        return Requests(np.cumsum(gaps), prompts, outputs)


@dataclass(frozen=True, slots=True)
class LatencyTargets:
    """Latency targets of a request; None: no target.

    first_seconds: largest time from its arrival to its first token.
    token_seconds: largest mean time between two tokens.
    """

    first_seconds: float | None = None
    token_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Requests that were served; averages leave out the first tenth.

    requests: the arrivals.
    first, last: times of the first and the last token, shape (n,).
    preemptions: how often a request was preempted because the cache was full.
    """

    requests: Requests
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    preemptions: int

    @property
    def first_seconds(self) -> NDArray[np.float64]:
        """Seconds from arrival to first token, without the first tenth of requests."""
        return self._counting(self.first - self.requests.seconds)

    @property
    def token_seconds(self) -> NDArray[np.float64]:
        """Mean seconds between a request's tokens, first tenth left out; NaN for one token."""
        intervals = self.requests.output_tokens - 1.0
        return self._counting((self.last - self.first) / np.where(intervals > 0, intervals, np.nan))

    @property
    def batch(self) -> float:
        """Mean number of sequences decoded together."""
        start = float(self.requests.seconds[self._warm])
        end = float(self.requests.seconds[-1])
        inside = np.clip(self.last, start, end) - np.clip(self.first, start, end)
        return float(inside.sum()) / max(end - start, 1e-300)

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all requests over the time from the first arrival to the last token."""
        return float(self.requests.output_tokens.sum()) / self.seconds

    @property
    def seconds(self) -> float:
        """Time from the first arrival to the last token."""
        return float(self.last.max() - self.requests.seconds[0])

    def within(self, targets: LatencyTargets) -> float:
        """Returns the share of requests that met the targets."""
        met = np.ones(len(self.first_seconds), dtype=np.bool_)
        if targets.first_seconds is not None:
            met &= self.first_seconds <= targets.first_seconds
        if targets.token_seconds is not None:
            met &= ~(self.token_seconds > targets.token_seconds)
        return float(met.mean())

    @property
    def _warm(self) -> int:
        return int(_WARM_UP * len(self.first))

    def _counting(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values[self._warm :]


def read_trace(lines: Iterable[str], *, name: str) -> Requests:
    """Returns the requests of a CSV file with the columns time, prompt_tokens and output_tokens.

    Time is in seconds, or a date with a time of day. Azure's column names (TIMESTAMP,
    ContextTokens, GeneratedTokens) are accepted, too.

    Args:
      lines: the file's lines, the header first.
      name: the file's name, for messages.

    Raises ValueError if a column is missing, a value is not a number, a request is impossible, or
    there are more than MOST_REQUESTS.
    """
    rows = _rows(lines, name)
    header = [each.strip().lower() for each in next(rows, [])]
    places = {}
    for column, known in _COLUMNS.items():
        found = [header.index(each) for each in known if each in header]
        if not found:
            raise ValueError(
                f"trace {name} must have a header line with {', '.join(_COLUMNS)}, got no {column}"
            )
        places[column] = found[0]
    columns: dict[str, array[Any]] = {
        column: array("d" if column == "time" else "q") for column in places
    }
    for number, row in enumerate(rows, start=2):
        if number > MOST_REQUESTS + 1:
            raise ValueError(f"trace {name} must have at most {MOST_REQUESTS} requests, got more")
        for column, place in places.items():
            text = row[place].strip() if place < len(row) else "nothing"
            try:
                columns[column].append(_seconds(text) if column == "time" else int(text))
            except (ValueError, OverflowError):
                raise ValueError(
                    f"{column} in line {number} of {name} must be a number, got {text!r}"
                ) from None
    values = {column: np.array(of_column) for column, of_column in columns.items()}
    return Requests(values["time"], values["prompt_tokens"], values["output_tokens"])


def _rows(lines: Iterable[str], name: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(lines)
    except csv.Error as error:
        raise ValueError(f"trace {name} must be CSV, got: {error}") from None


def _seconds(text: str) -> float:
    """Returns the seconds of a number or of a date; a date without a time zone is in UTC."""
    try:
        return float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
