"""A server: times of its steps by batch and γ, times of prompts, and its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.curves import pass_points
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand


@dataclass(frozen=True, slots=True)
class Prompts:
    """Times of reading prompts.

    seconds: time of a pass over n prompt tokens of one sequence, by n; 1 is required.
    chunk: most prompt tokens that ride along with a decoding step; None: prompts are read apart,
      decoding waits meanwhile.
    pace: factor of all times; of several draws of a server shape (draws, 1).
    """

    seconds: Mapping[int, float]
    chunk: int | None = None
    pace: ArrayLike = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", pass_points("prompt_seconds", self.seconds))
        if self.chunk is not None and self.chunk < 1:
            raise ValueError(f"chunk must be at least 1, got {self.chunk}")

    def apart(self, tokens: ArrayLike) -> NDArray[np.float64]:
        """Returns the time of a pass over so many tokens and nothing else, linear between points.

        Beyond the last point time grows by the mean time of a token there.
        """
        places, seconds = (np.array(list(each)) for each in zip(*self.seconds.items(), strict=True))
        wanted = np.asarray(tokens, dtype=np.float64)
        beyond = np.maximum(wanted / places[-1], 1.0)
        return np.asarray(self.pace * np.interp(wanted, places, seconds) * beyond)

    def added(self, tokens: ArrayLike) -> NDArray[np.float64]:
        """Returns the time that prompt tokens add: less where they share steps with decoding."""
        apart = self.apart(tokens)
        return apart if self.chunk is None else np.maximum(apart - self.apart(1), 0.0)

    def max_rate(self, tokens: float, step: float) -> NDArray[np.float64]:
        """Returns how many prompts could be read a second if nothing else took time.

        Chunks are filled as fast as can be, in steps of at least `step` seconds or a short prompt.
        """
        if self.chunk is None:
            return np.asarray(1 / self.apart(tokens))
        widths = np.array([n for n in self.seconds if n < self.chunk] + [self.chunk])
        seconds = self.added(widths) + np.minimum(self.apart(1), step)
        return np.asarray((widths / tokens / seconds).max(axis=-1))

    def steps(self, tokens: float) -> int:
        """Returns in how many decoding steps a prompt takes part; 0 where it is read apart."""
        return 0 if self.chunk is None else int(np.ceil(tokens / self.chunk))

    def idle(self, tokens: float) -> NDArray[np.float64]:
        """Returns the time of reading a prompt while nothing is decoded, chunk by chunk."""
        if self.chunk is None:
            return self.apart(tokens)
        whole, rest = divmod(tokens, self.chunk)
        return np.asarray(whole * self.apart(self.chunk) + (rest > 0) * self.apart(rest))


@dataclass(frozen=True, slots=True)
class Server:
    """One server.

    seconds: time of a step that decodes 1, 2, … sequences (row) and drafts γ = 0, 1, … tokens each
      (column; 0: no speculation), shape (slots, longest + 1); in several draws (draws, slots,
      longest + 1).
    blocks: tokens that a step emits per sequence.
    prompts: times of reading prompts.
    cache_tokens: tokens that all caches hold together; None: as many as come.
    """

    seconds: NDArray[np.float64]
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
        """Returns how many sequences it decodes together at most, in its slots and its cache.

        Raises:
          ValueError: if not even one request fits.
        """
        if self.cache_tokens is None:
            return self.slots
        needed = demand.prompt_tokens + demand.output_tokens
        if needed > self.cache_tokens:
            raise ValueError(
                f"the cache must hold a request of {needed:.0f} tokens, got {self.cache_tokens:.0f}"
            )
        return max(1, min(self.slots, int(self.cache_tokens / demand.context)))


def by_batch(batches: Sequence[int], seconds: ArrayLike, slots: int) -> NDArray[np.float64]:
    """Returns times at every batch from 1 to slots, linear between those given.

    Args:
      batches: ascending, at least 1; below the first times are the first's, beyond the last they go
        on as the last two do.
      seconds: times at these batches, shape (..., batches, columns).
      slots: largest batch, at least 1.
    """
    given, places = np.asarray(seconds, dtype=np.float64), np.array(batches, dtype=np.float64)
    every = np.arange(1, slots + 1)
    shares = np.stack([np.interp(every, places, row) for row in np.eye(len(places))], axis=1)
    found = shares @ given
    if len(places) > 1:
        slope = np.diff(given[..., -2:, :], axis=-2) / (places[-1] - places[-2])
        found = found + np.maximum(every - places[-1], 0)[:, None] * np.maximum(slope, 0.0)
    return np.asarray(found)
