"""A server: step times by batch and γ, prompt times, and its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance
from simulator.cost.cost import Cost
from simulator.cost.curves import pass_points
from simulator.numerics.arguments import Floats
from simulator.numerics.lattice import DRAWS, normal_column, normal_draws
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand


@dataclass(frozen=True, slots=True)
class Prompts:
    """Times of reading prompts.

    seconds: time of a pass over n prompt tokens of one sequence, by n; n = 1 is required.
    chunk: most prompt tokens that one decoding step also reads; None: decoding stops while a prompt
      is read.
    pace: factor that multiplies all times; shape (draws, 1) if the server has random draws.
    """

    seconds: Mapping[int, float]
    chunk: int | None = None
    pace: ArrayLike = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", pass_points("prompt_seconds", self.seconds))
        if self.chunk is not None and self.chunk < 1:
            raise ValueError(f"chunk must be at least 1, got {self.chunk}")

    def apart(self, tokens: ArrayLike) -> Floats:
        """Returns the time of a pass that reads only prompt tokens, linear between known points.

        Beyond the last point of `seconds`, the time is proportional to the tokens.
        """
        places, seconds = (np.array(list(each)) for each in zip(*self.seconds.items(), strict=True))
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

    @property
    def slots(self) -> int:
        """Most sequences that are decoded together."""
        return int(self.seconds.shape[-2])

    def without(self, prompts: Prompts) -> Server:
        """Returns the server without speculation; prompts: its times of reading prompts."""
        single = Blocks(self.blocks.accepted[..., :1])
        return Server(self.seconds[..., :1], single, prompts, self.cache_tokens)

    def max_batch(self, demand: Demand) -> int:
        """Returns the most sequences decoded together, limited by slots and cache, at least 1."""
        if self.cache_tokens is None:
            return self.slots
        needed = demand.prompt_tokens + demand.output_tokens
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
    found = shares @ given
    if len(places) > 1:
        slope = np.diff(given[..., -2:, :], axis=-2) / (places[-1] - places[-2])
        found = found + np.maximum(every - places[-1], 0)[:, None] * np.maximum(slope, 0.0)
    return np.asarray(found)


# Columns of `normal_column` for errors of acceptance rates.
_RATES = 17


@dataclass(frozen=True, slots=True)
class Doubt:
    """Random draws of a server's uncertain step times and acceptance rates.

    seconds: factors that multiply step times, by draw, batch size (1 to `slots`) and γ (0 to
      `longest`), shape (draws, slots, longest + 1).
    logits: shift of the acceptance rates' logits, and its change with the logarithm of the
      position, shape (draws, 2).
    """

    seconds: Floats
    logits: Floats

    def of(self, server: Server) -> Server:
        """Returns the server at each draw; prompt times take the baseline's factor at batch 1."""
        factors = self.seconds[..., : server.seconds.shape[-1]]
        logit, change = self.logits.T[:, :, None, None]
        return replace(
            server,
            seconds=server.seconds * factors,
            blocks=server.blocks.moved(logit, change),
            prompts=replace(server.prompts, pace=factors[:, :1, 0]),
        )


def doubt_of(
    costs: Sequence[Cost],
    acceptance: Acceptance,
    server: Server,
    measured: Callable[[NDArray[np.int64]], Floats] | None = None,
) -> Doubt | None:
    """Returns random draws of a server's uncertain values; None if acceptance and cost are exact.

    costs: by ascending batch; server: the server at its most probable values.
    measured: maps γ to the covariance of log speed-ups that were measured as wholes, in place of
      the acceptance's errors; None: only those count.
    """
    slots, columns = server.seconds.shape
    if measured is not None:
        errors = np.sqrt(np.diag(measured(np.arange(1, columns))))
        logs = normal_column(_RATES)[:, None] * np.concatenate([[0.0], errors])
        steps = np.broadcast_to(np.exp(-logs)[:, None], (DRAWS, slots, columns))
        return Doubt(steps, np.zeros((DRAWS, 2)))
    values, vectors = np.linalg.eigh(acceptance.logit_covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    logits = normal_draws(_RATES, 2) @ root
    doubtful = {cost.setting.batch: cost for cost in costs if cost.posterior is not None}
    if not doubtful and not logits.any():
        return None
    seconds = np.ones((DRAWS, slots, columns))
    if doubtful:
        factors = [_factors(cost, columns - 1) for cost in doubtful.values()]
        seconds = by_batch([*doubtful], np.stack(factors, axis=1), slots)
    return Doubt(seconds, logits)


def _factors(cost: Cost, longest: int) -> Floats:
    """Returns drawn step times divided by their medians, shape (draws, longest + 1).

    Every plan uses the same draws (`Posterior.seconds_per_token`).
    """
    assert cost.posterior is not None
    assert cost.point is not None
    law = cost.posterior.seconds_per_token(cost.point, range(longest + 1), [1.0] * (longest + 1))
    return np.asarray(np.exp(law.draws - law.medians))
