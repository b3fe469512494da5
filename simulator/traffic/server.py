"""A server: step times by batch and γ, prompt times, and its limits."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.curve import Covariance, baseline_seconds, token_seconds
from simulator.cost.cost import Cost
from simulator.cost.curves import pass_points
from simulator.numerics.arguments import Floats
from simulator.numerics.lattice import DRAWS
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prompts:
    """Times of reading prompts.

    seconds: time of a pass over n prompt tokens of one sequence, by n; n = 1 is required.
    chunk: most prompt tokens that one decoding step also reads; None: decoding stops while a prompt
      is read.
    pace: factor that multiplies all times; shape (draws, 1) if the server has random draws.
    delay: seconds by which each request is later than these times say, because one of several
      groups of GPUs reads its whole prompt.
    """

    seconds: Mapping[int, float]
    chunk: int | None = None
    pace: ArrayLike = 1.0
    delay: float = 0.0
    # Numbers of tokens and their seconds, shape (2, points).
    _points: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", pass_points("prompt_seconds", self.seconds))
        points = np.array([*zip(*self.seconds.items(), strict=True)], dtype=np.float64)
        object.__setattr__(self, "_points", points)
        if self.chunk is not None and self.chunk < 1:
            raise ValueError(f"chunk must be at least 1, got {self.chunk}")

    def cached(self, share: float) -> Prompts:
        """Returns the times of prompts of which a prefix cache holds a share of the tokens.

        A prompt of n tokens is read as one of (1 - share) n tokens. share: in [0, 1).
        """
        read = 1 - share
        longer = {max(2, round(n / read)): time for n, time in self.seconds.items() if n > 1}
        chunk = None if self.chunk is None else max(1, round(self.chunk / read))
        return replace(self, seconds={1: self.seconds[1], **longer}, chunk=chunk)

    def apart(self, tokens: ArrayLike) -> Floats:
        """Returns the time of a pass that reads only prompt tokens, linear between known points.

        Beyond the last point of `seconds`, the time is proportional to the tokens.
        """
        places, seconds = self._points
        wanted = np.asarray(tokens, dtype=np.float64)
        beyond = np.maximum(wanted / places[-1], 1.0)
        return np.asarray(self.pace * np.interp(wanted, places, seconds) * beyond)

    def added(self, tokens: ArrayLike) -> Floats:
        """Returns the seconds that prompt tokens add to a decoding step that also reads them.

        If `chunk` is None, decoding stops for prompts: returns the seconds of a pass of their own.
        """
        apart = self.apart(tokens)
        return apart if self.chunk is None else np.maximum(apart - self.apart(1), 0.0)

    def max_rate(self, tokens: float, step: float) -> Floats:
        """Returns how many prompts of `tokens` tokens can be read per second.

        step: shortest time of a step that only decodes, in seconds.
        """
        if self.chunk is None:
            return np.asarray(1 / self.apart(tokens))
        widths = np.array([n for n in self.seconds if n < self.chunk] + [self.chunk])
        seconds = self.added(widths) + np.minimum(self.apart(1), step)
        return np.asarray((widths / tokens / seconds).max(axis=-1))

    def idle(self, tokens: float) -> Floats:
        """Returns the time to read a prompt, chunk by chunk, while nothing is decoded."""
        if self.chunk is None:
            return self.apart(tokens)
        whole, rest = divmod(tokens, self.chunk)
        return np.asarray(whole * self.apart(self.chunk) + (rest > 0) * self.apart(rest))


@dataclass(frozen=True, slots=True)
class Server:
    """One server: its step times, acceptance, prompt times and cache.

    seconds: time of a step that decodes 1, 2, … sequences and drafts γ = 0, 1, … tokens in each (0:
      no speculation), shape (slots, longest + 1) or (draws, slots, longest + 1).
    cache_tokens: tokens that fit in the cache of all sequences; None if there is no limit.
    """

    seconds: Floats
    blocks: Blocks
    prompts: Prompts
    cache_tokens: float | None = None
    # Results of `derived`.
    _derived: dict[Hashable, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """Returns the result of the first call of `make` with a key for this server."""
        if key not in self._derived:
            self._derived[key] = make()
        result: T = self._derived[key]
        return result

    def drawn(
        self, tokens: NDArray[np.int64], gammas: tuple[int, ...], seed: int
    ) -> tuple[array[int], dict[int, array[float]]]:
        """Returns kinds of requests that emit `tokens` tokens and, by γ, their blocks, at random.

        Simulations of the same requests at several rates draw them once.
        """

        def draw() -> tuple[array[int], dict[int, array[float]]]:
            generator = np.random.default_rng(seed)
            kinds = generator.integers(self.blocks.kinds, size=len(tokens))
            blocks = self.blocks.drawn(tokens, kinds, gammas, generator)
            needed = {gamma: array("d", counts.tobytes()) for gamma, counts in blocks.items()}
            return array("q", kinds.tobytes()), needed

        return self.derived((gammas, tokens.tobytes(), seed), draw)

    def reading(self, longest: int) -> tuple[list[float], list[float]]:
        """Returns seconds of 0, …, `longest` prompt tokens in their own pass, and added to one."""
        widths, prompts = np.arange(1 + longest), self.prompts
        both = (prompts.apart, prompts.added)
        return self.derived(("reading", longest), lambda: tuple(of(widths).tolist() for of in both))

    def limited(self, slots: int) -> Server:
        """Returns the server with at most so many sequences decoded together."""
        if slots >= self.slots:
            return self
        return self.derived(slots, lambda: replace(self, seconds=self.seconds[..., :slots, :]))

    @property
    def slots(self) -> int:
        """Most sequences that are decoded together."""
        return int(self.seconds.shape[-2])

    def up_to(self, gamma: int) -> Server:
        """Returns the server that drafts at most γ tokens."""
        accepted = self.blocks.accepted[..., : gamma + 1]
        return replace(self, seconds=self.seconds[..., : gamma + 1], blocks=Blocks(accepted))

    def without(self, prompts: Prompts) -> Server:
        """Returns the server without speculation; prompts: its times of reading prompts."""
        return replace(self.up_to(0), prompts=prompts)

    def max_batch(self, demand: Demand) -> int:
        """Returns the most sequences decoded together, limited by slots and cache, at least 1."""
        if self.cache_tokens is None:
            return self.slots
        needed = demand.whole
        if needed > self.cache_tokens:
            raise ValueError(
                f"the cache must hold a request of {needed:.0f} tokens, got {self.cache_tokens:.0f}"
            )
        return max(1, min(self.slots, int(self.cache_tokens / demand.context)))


def by_batch(batches: Sequence[int], seconds: ArrayLike, slots: int) -> Floats:
    """Returns times at every batch from 1 to slots, linear between the given batches.

    Smaller batches take the time of the first given batch. Above the last one, the line through the
    last two continues, but never falls.

    batches: ascending; seconds: times at these batches, shape (..., batches, columns).
    """
    given, places = np.asarray(seconds, dtype=np.float64), np.array(batches, dtype=np.float64)
    every = np.arange(1, slots + 1)
    shares = np.stack([np.interp(every, places, row) for row in np.eye(len(places))], axis=1)
    at_batch = np.asarray(shares @ given)
    last = int(places[-1])
    if len(places) > 1 and slots > last:
        slope = np.diff(given[..., -2:, :], axis=-2) / (places[-1] - places[-2])
        at_batch[..., last:, :] += (every[last:] - last)[:, None] * np.maximum(slope, 0.0)
    return at_batch


@dataclass(frozen=True, slots=True)
class Doubt:
    """Random draws of a server's uncertain step times and acceptance rates.

    seconds: factors that multiply step times, by draw, batch size (1 to `slots`) and γ (0 to
      `longest`), shape (draws, slots, longest + 1). An error of the acceptance changes the time
      per token as a longer step does, so that steps have the errors of both.
    """

    seconds: Floats

    def of(self, server: Server) -> Server:
        """Returns the server with a leading axis of draws: `seconds` times steps and prompts.

        A prompt takes the factor of a baseline step at batch 1.
        """
        factors = self.seconds[..., : server.seconds.shape[-1]]
        return replace(
            server,
            seconds=server.seconds * factors,
            blocks=Blocks(server.blocks.accepted[None]),
            prompts=replace(server.prompts, pace=factors[:, :1, 0]),
        )


def doubt_of(
    costs: Sequence[Cost],
    acceptance: Acceptance,
    server: Server,
    measured: Covariance | None = None,
) -> Doubt | None:
    """Returns random draws of a server's uncertain values; None if acceptance and cost are exact.

    The plan of each batch has the same draws (`simulator.choice.curve`).
    costs: by ascending batch; server: the server at its most probable values.
    measured: `doubt` of the plan (`simulator.choice.plan.plan`).
    """
    slots, columns = server.seconds.shape
    laws = [
        [baseline_seconds(cost), token_seconds(acceptance, cost, np.arange(1, columns), measured)]
        for cost in costs
    ]
    if all(len(law.draws) == 1 for pair in laws for law in pair):
        return None
    factors = [
        np.hstack([np.zeros((DRAWS, 1)) + law.draws - law.medians for law in pair]) for pair in laws
    ]
    batches = [cost.setting.batch for cost in costs]
    return Doubt(by_batch(batches, np.exp(np.stack(factors, axis=1)), slots))
