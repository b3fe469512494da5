"""The steady state of a server in closed form, at any rate of requests.

Requests arrive at rate λ. Each takes t seconds of the server for its prompt and n(γ) steps. While b
are decoded, a step takes s(b, γ) and serves each of them once: the server is a processor that b
requests share. Whatever the law of their lengths, how many are there then has the law

    π(b) = π(0) Π_{k ≤ b} λ (n s(k) / k + t)               (Cohen 1979, processor sharing)

Of slots there are B, and the most requests a second that the server bears is 1 / (n s(B) / B + t).
Beyond B requests wait in line, exact if lengths were exponential and corrected by (1 + cv²)/2 (Lee
and Longton 1959), which is exact again at B = 1 (Pollaczek and Khinchine). By Little's law the mean
number in service over λ is the time in service. Prompts that are read apart go before decoding, and
break off no step (Cobham 1954).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.traffic.demand import Demand
from simulator.traffic.server import Server

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Steady:
    """A server's steady state, shape (γ, draws, rates) each, γ and draws where there are several.

    What the server does not bear is infinite.

    rate: requests a second.
    batch: sequences decoded together on average, times without any included.
    token_seconds: between two tokens of a request, from its first to its last.
    first_seconds: from a request's arrival to its first token.
    most: requests a second that it bears at most, shape (γ, draws).
    """

    rate: Floats
    batch: Floats
    token_seconds: Floats
    first_seconds: Floats
    most: Floats

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether the server bears the rate."""
        return np.asarray(self.rate < self.most[..., None])

    def request_seconds(self, demand: Demand) -> Floats:
        """Returns the time from a request's arrival to its last token."""
        return np.asarray(self.first_seconds + (demand.output_tokens - 1) * self.token_seconds)


@dataclass(frozen=True, slots=True)
class _Needs:
    """What a request needs, shape (γ, draws) but where it is said.

    most: sequences decoded together at most.
    seconds: of a step at batches 1, 2, … up to the largest `most`, shape (γ, draws, batches).
    decoding: steps of the output.
    riding: steps that the prompt takes part in, one value.
    reading: seconds of the server that the prompt adds, shape (draws,).
    """

    most: NDArray[np.int64]
    seconds: Floats
    decoding: Floats
    riding: int
    reading: Floats

    @classmethod
    def of(cls, server: Server, demand: Demand, gamma: ArrayLike) -> _Needs:
        decoding = _at(server.blocks.needed(demand.output_tokens - 1).mean(axis=-2), gamma)
        most = np.full(decoding.shape, server.most(demand))
        if server.prompts.chunk is not None:
            # In each step as many end as whose prompts one chunk holds: no larger batch can last.
            ending = decoding * server.prompts.chunk / demand.prompt_tokens
            most = np.clip(ending, 1, most).astype(np.int64)
        seconds = _at(server.seconds, gamma)[..., : most.max()]
        riding = server.prompts.steps(demand.prompt_tokens)
        return cls(most, seconds, decoding, riding, server.prompts.added(demand.prompt_tokens))

    @property
    def batches(self) -> NDArray[np.int64]:
        """1, 2, …, shape (batches,)."""
        return np.arange(1, self.seconds.shape[-1] + 1)

    @property
    def all_taken(self) -> NDArray[np.bool_]:
        """Where all slots are taken, shape (γ, draws, batches)."""
        return np.asarray(self.batches == self.most[..., None])

    @property
    def shares(self) -> Floats:
        """Seconds of the server that a request takes, shape (γ, draws, batches).

        A prompt that is read step by step has a slot meanwhile, which counts where all are taken.
        """
        steps = self.decoding[..., None] + self.riding * self.all_taken
        return np.asarray(steps * self.seconds / self.batches + self.reading[..., None])

    @property
    def least_share(self) -> Floats:
        """That where all slots are taken."""
        return self.where_taken(self.shares)

    @property
    def decoded(self) -> Floats:
        """Sequences that are decoded, shape (γ, draws, batches)."""
        share = self.decoding / np.maximum(self.decoding + self.riding, 1.0)
        return np.where(self.all_taken, (self.most * share)[..., None], self.batches)

    def where_taken(self, values: Floats) -> Floats:
        """Returns values of batches where all slots are taken."""
        return np.asarray(np.take_along_axis(values, self.most[..., None] - 1, -1)[..., 0])

    def variation(self, server: Server, demand: Demand, gamma: ArrayLike) -> Floats:
        """Returns the squared coefficient of variation of the time that it needs by itself."""
        step = self.where_taken(self.seconds)
        own = self.decoding * step
        blocks = server.blocks.variation(demand.output_tokens - 1, demand.output_spread)
        variance = _at(blocks, gamma) * own**2 + (demand.prompt_spread * self.reading) ** 2
        seconds = np.maximum(own + self.riding * step + self.reading, 1e-300)
        return np.asarray(variance / seconds**2)


@dataclass(frozen=True, slots=True)
class _Law:
    """How many requests are there, shape (γ, draws, rates) each.

    idle, full: the chance that none is there, and that all slots are taken.
    decoded: sequences decoded on average.
    step: of a step on average, while there is any.
    running: what is left on average of the step that an arrival meets where a slot is free.
    """

    idle: Floats
    full: Floats
    decoded: Floats
    step: Floats
    running: Floats

    @classmethod
    def of(cls, rate: Floats, needs: _Needs) -> _Law:
        within = needs.batches <= needs.most[..., None]
        logs = np.cumsum(np.log(needs.shares), axis=-1)[..., None, :]
        logs = np.where(within, 0, -np.inf)[..., None, :] + logs
        logs = logs + np.log(rate)[..., None] * needs.batches
        scale = np.maximum(logs.max(axis=-1), 0.0)
        weights, idle = np.exp(logs - scale[..., None]), np.exp(-scale)
        # Those who wait in line beyond the last batch are counted there.
        place = np.broadcast_to(needs.most[..., None, None] - 1, (*idle.shape, 1))
        full = np.take_along_axis(weights, place, -1)
        full = full / (1 - rate * needs.least_share[..., None])[..., None]
        np.put_along_axis(weights, place, full, -1)
        ones, steps = np.ones_like(needs.seconds), needs.seconds
        values = np.stack([needs.decoded, ones, steps, steps * ~needs.all_taken / 2], axis=-1)
        decoded, busy, step, running = np.moveaxis(weights @ values, -1, 0)
        total = idle + busy
        step = step / np.maximum(busy, 1e-300)
        return cls(idle / total, full[..., 0] / total, decoded / total, step, running / total)


def steady(server: Server, demand: Demand, gamma: ArrayLike, rate: ArrayLike) -> Steady:
    """Returns the steady state.

    Args:
      server: what its steps take and yield, and in how many draws.
      demand: what a request asks.
      gamma: drafted tokens a block, one or several, shape () or (γ,).
      rate: λ, requests a second, above 0, shape (rates,) or (draws, rates).

    Raises:
      ValueError: if the cache does not hold one request.
    """
    rates = np.atleast_1d(np.asarray(rate, dtype=np.float64))
    needs = _Needs.of(server, demand, gamma)
    most = 1 / needs.least_share
    borne = np.where(rates < most[..., None], rates, np.nan)
    law, reading = _Law.of(borne, needs), needs.reading[..., None]
    # How much of a prompt's queue a request meets: none of it with a single slot.
    among = (1 - law.full) * (1 - 1 / needs.most[..., None])
    occupied, last = borne * reading, borne / most[..., None]
    decoding = law.decoded / borne - reading * (1 + among * occupied / (1 - occupied))
    variation = needs.variation(server, demand, gamma)[..., None]
    waiting = (1 + variation) / 2 * law.full * last / (1 - last) / borne
    first = waiting + _reading_seconds(server, demand, needs, borne, law, among)
    emitted = max(demand.output_tokens - 1, 1.0)
    values = (decoding * borne, decoding / emitted, first)
    batch, token, first = (np.where(np.isnan(borne), np.inf, each) for each in values)
    return Steady(rates, batch, token, first, most[()])


def most_rate(server: Server, demand: Demand, gamma: ArrayLike) -> Floats:
    """Returns the requests a second that the server bears at most; arguments as in steady."""
    return np.asarray(1 / _Needs.of(server, demand, gamma).least_share)[()]


def _at(values: Floats, gamma: ArrayLike) -> Floats:
    """Returns values by γ, their last axis, at one γ or, along a new first axis, at several."""
    return np.asarray(np.moveaxis(values, -1, 0)[np.asarray(gamma)])


def _reading_seconds(
    server: Server, demand: Demand, needs: _Needs, rate: Floats, law: _Law, among: Floats
) -> Floats:
    """Returns the time from having a slot to the first token.

    What is left of the step that runs, prompts of others that are before it, and its own.
    """
    prompts, added = server.prompts, needs.reading[..., None]
    idle = np.asarray(prompts.idle(demand.prompt_tokens))[..., None]
    share = 0.0 if prompts.chunk is None else demand.prompt_tokens / prompts.chunk
    own = idle if prompts.chunk is None else needs.riding * law.step + added
    reading = share * law.step + added
    squares = (1 + demand.prompt_spread**2) * reading**2
    others = among * rate * squares / (2 * np.maximum(1 - rate * reading, 1e-9))
    return np.asarray(law.running + others + law.idle * idle + (1 - law.idle) * own)
