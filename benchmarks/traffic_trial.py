"""Measurements of a server at each request rate, and the predictions for it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from traffic_client import Answer
from traffic_prices import Priced, Pricing, priced

from simulator.traffic.demand import Demand, Requests, SimulationResult
from simulator.traffic.events import serve
from simulator.traffic.population import max_rate
from simulator.traffic.steady import Steady, steady


@dataclass
class Arm:
    """A server of one γ in one segment.

    pricing: pricing in turns with the requests.
    starts: times at which requests were sent; empty: clients saturate the server.
    """

    gamma: int
    pricing: Pricing
    starts: list[float]
    answers: list[Answer]

    @property
    def prices(self) -> Priced:
        """Times of the server's steps during the segment."""
        return priced(self.pricing, self.gamma)

    @property
    def rate(self) -> float:
        """Requests per second that arrived."""
        return len(self.starts) / self.starts[-1]


@dataclass
class Segment:
    """Equal arrivals at each server. share: of `Trial.most`; 0: saturated clients."""

    share: float
    arms: list[Arm]


@dataclass
class Trial:
    """A run, which a later run may continue.

    most: first predicted capacity of the slower server, requests per second.
    """

    engine: str
    slots: int
    prompt_tokens: int
    output_tokens: int
    most: float = 0.0
    segments: list[Segment] = field(default_factory=list)

    @property
    def demand(self) -> Demand:
        """Tokens of each request."""
        return Demand(self.prompt_tokens, self.output_tokens)

    def predicted_most(self, arm: Arm) -> float:
        """Returns the capacity of an arm's server by its prices, requests per second."""
        server = arm.prices.server(self.slots, self.demand, self.slots)
        return float(max_rate(server, self.demand, arm.gamma))

    @property
    def clients(self) -> int:
        """Number of clients that saturate a server: two per slot."""
        return 2 * self.slots

    def capacity(self, arm: Arm) -> float:
        """Returns requests per second, from the tokens that came while all clients were busy."""
        # The first and the last requests are left out: the state is not steady then.
        ends = sorted(answer.tokens[-1] for answer in arm.answers)
        if len(ends) <= self.clients:
            raise ValueError(f"saturated must be longer, got {len(ends)} answers in it")
        start = ends[self.clients]
        end = max(answer.sent for answer in arm.answers)
        tokens = np.concatenate([answer.tokens for answer in arm.answers])
        counted = ((start < tokens) & (tokens <= end)).sum()
        return float(counted / (end - start) / self.output_tokens)

    def row(self, arm: Arm) -> "Row":
        """Returns measurement and predictions of one server at one rate."""
        demand, starts = self.demand, arm.starts
        first = steady(arm.prices.server(self.slots, demand, 1), demand, arm.gamma, arm.rate)
        server = arm.prices.server(self.slots, demand, float(first.batch[0]))
        lengths = (np.full(len(starts), n) for n in (self.prompt_tokens, self.output_tokens))
        same = Requests(np.array(starts), *lengths)
        simulated = [serve(server, same, arm.gamma, seed=seed) for seed in range(20)]
        return Row(arm, steady(server, demand, arm.gamma, arm.rate), simulated)


@dataclass
class Row:
    """One rate at one server, measured and predicted, in milliseconds."""

    arm: Arm
    state: Steady
    simulated: list[SimulationResult]

    @property
    def token_ms(self) -> tuple[float, float, float]:
        """Time between two tokens: measured, simulated, in closed form."""
        return self._of(
            [answer.token for answer in self.arm.answers],
            [run.token_seconds for run in self.simulated],
            self.state.token_seconds,
        )

    @property
    def first_ms(self) -> tuple[float, float, float]:
        """Time to the first token: measured, simulated, in closed form."""
        return self._of(
            [answer.first for answer in self.arm.answers],
            [run.first_seconds for run in self.simulated],
            self.state.first_seconds,
        )

    @property
    def tokens_per_second(self) -> tuple[float, float]:
        """Throughput of all requests: measured, simulated."""
        answers = self.arm.answers
        span = max(answer.tokens[-1] for answer in answers) - min(answer.sent for answer in answers)
        tokens = sum(len(answer.tokens) for answer in answers)
        return tokens / span, float(np.mean([run.tokens_per_second for run in self.simulated]))

    def _of(
        self,
        measured: list[float],
        simulated: list[NDArray[np.float64]],
        closed: NDArray[np.float64],
    ) -> tuple[float, float, float]:
        # The simulation leaves the first requests out, which found the server empty.
        counting = measured[len(measured) - len(simulated[0]) :]
        return 1e3 * float(np.mean(counting)), 1e3 * float(np.mean(simulated)), 1e3 * closed[0]
