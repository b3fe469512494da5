"""Results of a simulation: times of each request's tokens, and the share within targets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.traffic.demand import Requests

# Share of the requests, the first ones, that met a server emptier than later.
_WARM_UP = 0.1


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
