"""The load of a server: arriving requests, the times of their tokens, and latency targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.arguments import Floats, integer, non_negative

# Share of requests at the start that find an emptier server than later ones.
_WARM_UP = 0.1
# Targets below these (seconds) were probably stated in seconds, not in milliseconds.
_LEAST_FIRST, _LEAST = 0.005, 0.001
# Stretches of a simulation whose shares give the error of the whole.
_STRETCHES = 20


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests in order of arrival: arrival times and numbers of tokens, at least 1, shape (n,)."""

    seconds: Floats
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.seconds) == 0:
            raise ValueError("trace must have at least one request, got none")
        non_negative("time of a request", self.seconds)
        backwards = np.diff(self.seconds) < 0
        if backwards.any():
            before, after = self.seconds[backwards.argmax() :][:2]
            raise ValueError(f"trace must be sorted by time, got {after:g} after {before:g}")
        for name in ("prompt_tokens", "output_tokens"):
            least = getattr(self, name).min()
            if least < 1:
                raise ValueError(f"{name} of a request must be at least 1, got {least}")

    @property
    def rate(self) -> float:
        """Requests per second."""
        span = float(self.seconds[-1] - self.seconds[0])
        if span <= 0:
            raise ValueError("trace must last longer than 0 seconds, or `rate` be given")
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
    """Mean tokens of a prompt and of an output, at least 1, and how both and arrivals vary.

    prompt_spread, output_spread: standard deviation of a length over its mean.
    replicas: servers that share a Poisson process of arrivals in turn (round robin). The gaps
      between one server's arrivals then are sums of this many exponential gaps.
    recorded: recorded requests in place of random ones; maps a rate, a count and `replicas` to what
      one server gets.
    """

    prompt_tokens: float
    output_tokens: float
    prompt_spread: float = 0.0
    output_spread: float = 0.0
    replicas: int = field(default=1, kw_only=True)
    recorded: Callable[[float, int, int], Requests] | None = field(
        default=None, kw_only=True, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        integer("replicas", self.replicas, at_least=1)
        for name in ("prompt_tokens", "output_tokens"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name):g}")

    @property
    def context(self) -> float:
        """Tokens in a sequence's cache, averaged over its decoding."""
        return self.prompt_tokens + self.output_tokens / 2

    @property
    def whole(self) -> float:
        """Tokens of a prompt and its output."""
        return self.prompt_tokens + self.output_tokens

    def arrivals(self, rate: float, count: int, *, seed: int) -> Requests:
        """Returns `count` requests of one replica, at `rate` per second; see `replicas`.

        Lengths are the means, or lognormal where they have a spread; `recorded` has its own.
        """
        number, generator = integer("requests", count, at_least=1), np.random.default_rng(seed)
        if self.recorded is not None:
            return self.recorded(rate, number, self.replicas)
        gaps = generator.gamma(self.replicas, 1 / (rate * self.replicas), number)
        prompts = _lengths(self.prompt_tokens, self.prompt_spread, number, generator)
        outputs = _lengths(self.output_tokens, self.output_spread, number, generator)
        return Requests(np.cumsum(gaps), prompts, outputs)


def _lengths(
    mean: float, spread: float, number: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Returns lognormal numbers of tokens, at least 1; without a spread, the rounded mean."""
    if spread == 0:
        return np.full(number, round(mean))
    variance = math.log1p(spread**2)
    drawn = mean * np.exp(generator.normal(-variance / 2, math.sqrt(variance), number))
    return np.maximum(drawn.round(), 1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class LatencyTargets:
    """Most seconds allowed to the first token, and between tokens on average; None: no target."""

    first_seconds: float | None = None
    token_seconds: float | None = None

    @classmethod
    def of_ms(cls, targets: Mapping[str, float]) -> LatencyTargets:
        """Returns targets from milliseconds by name: ttft (first token), tpot (each token)."""
        first, token = (targets.get(name) for name in ("ttft", "tpot"))
        return cls(first and first / 1e3, token and token / 1e3)

    @property
    def hint(self) -> str:
        """Words for targets so small that they may be seconds; empty if none is."""
        named = (("ttft", self.first_seconds, _LEAST_FIRST), ("tpot", self.token_seconds, _LEAST))
        small = {name: given < least for name, given, least in named if given is not None}
        if not any(small.values()):
            return ""
        meant = ((name, given) for name, given, _ in named if given is not None)
        written = (f"{name}={given * (1e6 if small[name] else 1e3):g}" for name, given in meant)
        return f": if this is in seconds, write {','.join(written)}"

    def met(self, first_seconds: Floats, token_seconds: Floats) -> NDArray[np.bool_]:
        """Returns whether times meet the targets; a NaN time between tokens (one token) does."""
        first = np.inf if self.first_seconds is None else self.first_seconds
        token = np.inf if self.token_seconds is None else self.token_seconds
        return np.asarray((first_seconds <= first) & ~(token_seconds > token))


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Times of served requests; averages leave out the first tenth of the requests.

    first, last: times of each request's first and last token, shape (n,).
    preemptions: how often a request was preempted because the cache was full.
    """

    requests: Requests
    first: Floats
    last: Floats
    preemptions: int

    @property
    def first_seconds(self) -> Floats:
        """Seconds from arrival to first token, for each request but the first tenth of requests."""
        return self._counting(self.first - self.requests.seconds)

    @property
    def token_seconds(self) -> Floats:
        """Mean seconds between tokens, for each request but the first tenth; NaN: one token."""
        intervals = self.requests.output_tokens - 1.0
        return self._counting((self.last - self.first) / np.where(intervals > 0, intervals, np.nan))

    @property
    def batch(self) -> float:
        """Mean number of sequences decoded together."""
        start, end = self.requests.seconds[[int(_WARM_UP * len(self.first)), -1]].tolist()
        inside = np.clip(self.last, start, end) - np.clip(self.first, start, end)
        return float(inside.sum() / max(end - start, 1e-300))

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all requests, divided by the time from first arrival to last token."""
        return float(self.requests.output_tokens.sum()) / self.seconds

    @property
    def seconds(self) -> float:
        """Time from the first arrival to the last token."""
        return float(self.last.max() - self.requests.seconds[0])

    def within(self, targets: LatencyTargets) -> float:
        """Returns the share of requests that met the targets."""
        return float(targets.met(self.first_seconds, self.token_seconds).mean())

    def within_error(self, targets: LatencyTargets) -> float:
        """Returns the standard error of `within`, from the shares of stretches of time.

        Requests that miss a target come in bursts, so they vary more than independent ones.
        """
        met = targets.met(self.first_seconds, self.token_seconds)
        shares = [part.mean() for part in np.array_split(met, min(_STRETCHES, len(met)))]
        return float(np.std(shares, ddof=1) / len(shares) ** 0.5) if len(shares) > 1 else 0.0

    def _counting(self, values: Floats) -> Floats:
        return values[int(_WARM_UP * len(self.first)) :]
