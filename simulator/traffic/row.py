"""A server's state at one rate of requests, and whether speculation loses there."""

from dataclasses import dataclass
from math import floor

from simulator.choice.advice import Advice
from simulator.choice.odds import OPEN
from simulator.traffic.steady import TRUSTED, Steady

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """Steady state at one rate, with or without speculation.

    rate: requests per second, of all replicas.
    gamma: drafted tokens per block; 0 without speculation.
    state: steady state of one replica at its part of the rate, arrays of one element.
    tokens_per_second: throughput of all requests; above capacity, the throughput at capacity.
    token_seconds: interval of the time between tokens; None if it is exact.
    overload_risk: share of draws with a capacity below the rate; None if nothing is uncertain.
    on_target: whether mean times meet the latency targets; None without targets.
    advice: which γ to run at this rate; None without speculation.
    by_batch: the state where γ changes with the batch size as scheduled; None without speculation.
    trusted: share of the capacity up to which the closed form's times are within some 5 %.
    loses: see `loses`.
    """

    rate: float
    gamma: int
    state: Steady
    tokens_per_second: float
    token_seconds: Interval | None = None
    overload_risk: float | None = None
    on_target: bool | None = None
    advice: Advice | None = None
    replicas: int = 1
    by_batch: Steady | None = None
    trusted: float = TRUSTED
    loses: bool = False

    @property
    def most_requests(self) -> float:
        """Capacity of all replicas at this gamma, in requests per second."""
        return self.replicas * float(self.state.max_rate)

    @property
    def replicas_needed(self) -> int:
        """The fewest replicas whose capacity at this gamma is above the rate."""
        return 1 + floor(self.rate / float(self.state.max_rate))

    @property
    def gain_probability(self) -> float | None:
        """The probability that speculation gains at this rate; None if the row is overloaded."""
        return self.advice.gain_probability if self.advice is not None and self.stable else None

    @property
    def undecided(self) -> bool:
        """Whether runs must decide if to speculate at this rate."""
        return self.advice is not None and self.advice.undecided and not self.loses

    @property
    def stable(self) -> bool:
        """Whether the server sustains the rate."""
        return bool(self.state.stable[0])

    @property
    def near_capacity(self) -> bool:
        """Whether the rate is near the capacity, where the closed form underestimates times."""
        return self.stable and self.rate > self.trusted * self.most_requests


def loses(advice: Advice, *, stable: bool, met: bool | None, met_without: bool | None) -> bool:
    """Returns whether speculation is not worth a run at a rate.

    It overloads the server, misses latency targets that are met without it, or a loss is likelier.

    stable: whether the server that drafts sustains the rate.
    met, met_without: whether targets are met with speculation and without; None: no targets.
    """
    chance = 1.0 if advice.gain_probability is None else advice.gain_probability
    return not stable or (met is False and met_without is True) or chance < OPEN
