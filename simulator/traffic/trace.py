"""Traces of requests: files with a time and lengths, and the parts of a trace hour by hour."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from simulator.numerics.arguments import Floats
from simulator.traffic.demand import Demand, Requests

MOST_REQUESTS = 10_000_000
HOUR = 3600.0
# Most hours of a trace that is divided into hours.
_MOST_HOURS = 31 * 24
# Times from here on are seconds since 1970, and not since the start of the trace.
_DATES = 1e8
# Parts of the requests of one replica that are simulated if it has more than enough.
_PARTS = 8
# Names of the columns of a trace; the second name of each is in Azure's public traces.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "time": ("time", "timestamp", "arrival_time"),
    "prompt_tokens": ("prompt_tokens", "contexttokens", "input_tokens"),
    "output_tokens": ("output_tokens", "generatedtokens", "completion_tokens"),
}


@dataclass(frozen=True, slots=True)
class Hour:
    """The requests of a trace in about an hour.

    start: when it begins, on the clock of the trace. seconds: how long it lasts.
    requests: its requests; None if there are none.
    """

    start: float
    seconds: float
    requests: Requests | None

    @property
    def rate(self) -> float:
        """Requests per second."""
        return 0.0 if self.requests is None else len(self.requests.seconds) / self.seconds

    @property
    def name(self) -> str:
        """When it begins: day and time in UTC, or hours and minutes of the trace's clock."""
        if self.start >= _DATES:
            return f"{datetime.fromtimestamp(self.start, UTC):%d %H:%M}"
        minutes = round(self.start / 60)
        return f"{minutes // 60}:{minutes % 60:02}"

    @property
    def demand(self) -> Demand:
        """Mean lengths and their spread, with the hour's own requests as arrivals."""
        assert self.requests is not None
        return replace(self.requests.demand, recorded=self.arrivals)

    def arrivals(self, rate: float, count: int, replicas: int) -> Requests:
        """Returns at least `count` requests that one of several replicas gets, as they arrive.

        The shares of the replicas follow one after another until they suffice. If one replica
        gets far more, evenly spread parts of it are returned. Gaps are divided by `rate` ·
        `replicas` over the hour's rate.
        """
        assert self.requests is not None
        known, total = self.requests, len(self.requests.seconds)
        streams = min(replicas, total, ceil(count * replicas / total))
        places = [np.arange(first, total, replicas) for first in range(streams)]
        gaps = [np.diff(known.seconds[place], prepend=self.start) for place in places]
        parts = _PARTS * max(1, len(places[0]) // (2 * count))
        some = slice(None, None, parts // _PARTS)
        order = np.concatenate(np.array_split(np.concatenate(places), parts)[some])
        waits: Floats = np.concatenate(np.array_split(np.concatenate(gaps), parts)[some])
        times = np.cumsum(waits) * (self.rate / (rate * replicas))
        return Requests(times, known.prompt_tokens[order], known.output_tokens[order])


def hours_of(trace: Requests) -> tuple[Hour, ...]:
    """Returns the trace in equal parts of about an hour; a shorter trace is one part.

    Raises ValueError if the trace has no length, or is longer than 31 days.
    """
    first, last = trace.seconds[[0, -1]].tolist()
    if last <= first:
        raise ValueError("trace must last longer than 0 seconds")
    count = max(1, round((last - first) / HOUR))
    if count > _MOST_HOURS:
        raise ValueError(f"trace must last at most {_MOST_HOURS // 24} days, got {count} hours")
    ends = np.linspace(first, last, count + 1)
    cuts = [0, *np.searchsorted(trace.seconds, ends[1:-1]).tolist(), len(trace.seconds)]
    parts = [
        (trace.seconds[a:b], trace.prompt_tokens[a:b], trace.output_tokens[a:b])
        for a, b in pairwise(cuts)
    ]
    return tuple(
        Hour(start, end - start, Requests(*part) if len(part[0]) else None)
        for start, end, part in zip(ends[:-1].tolist(), ends[1:].tolist(), parts, strict=True)
    )


def read_trace(lines: Iterable[str], *, name: str) -> Requests:
    """Returns the requests of a CSV file with the columns time, prompt_tokens and output_tokens.

    Time is in seconds, or a date with a time of day. Azure's column names (TIMESTAMP,
    ContextTokens, GeneratedTokens) are accepted, too.

    lines: the file's lines, the header first; name: the file's name in messages.
    """
    rows = _rows(lines, name)
    header = [name.strip().lower() for name in next(rows, [])]
    places = {}
    for column, known in _COLUMNS.items():
        present = [header.index(name) for name in known if name in header]
        if not present:
            raise ValueError(
                f"trace {name} must have a header line with {', '.join(_COLUMNS)}, got no {column}"
            )
        places[column] = present[0]
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
