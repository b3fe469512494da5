"""The steady state of a server in closed form, at any rate of requests.

Requests arrive at rate λ. Each takes t seconds of the server for its prompt and n(γ) steps. While b
are decoded, a step takes s(b, γ(b)) and serves each of them once: the server is a processor that b
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
    """A server's steady state, shape (rates,) each; infinite where it does not bear the rate.

    rate: requests a second.
    batch: sequences decoded together on average, times without any included.
    token_seconds: between two tokens of a request, from its first to its last.
    first_seconds: from a request's arrival to its first token.
    most: requests a second that it bears at most, one value.
    """

    rate: Floats
    batch: Floats
    token_seconds: Floats
    first_seconds: Floats
    most: float

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether the server bears the rate."""
        return np.asarray(self.rate < self.most)

    def request_seconds(self, demand: Demand) -> Floats:
        """Returns the time from a request's arrival to its last token."""
        return np.asarray(self.first_seconds + (demand.output_tokens - 1) * self.token_seconds)


@dataclass(frozen=True, slots=True)
class _Needs:
    """What a request needs at every batch from 1 to the most; shape (most,) but where it is said.

    seconds: of a step.
    decoding: steps of the output.
    riding: steps that the prompt takes part in, one value.
    reading: seconds of the server that the prompt adds, one value.
    variation: squared coefficient of variation of the time that it needs by itself.
    """

    seconds: Floats
    decoding: Floats
    riding: int
    reading: float
    variation: Floats

    @classmethod
    def of(cls, server: Server, demand: Demand, gamma: ArrayLike) -> _Needs:
        gammas = np.broadcast_to(gamma, (server.slots,))
        emitted = demand.output_tokens - 1
        decoding = server.blocks.needed(emitted).mean(axis=0)[gammas]
        most = server.most(demand)
        if server.prompts.chunk is not None:
            # In each step as many end as whose prompts one chunk holds: no larger batch can last.
            ending = decoding[:most] * server.prompts.chunk / demand.prompt_tokens
            most = int(np.clip(ending.min(), 1, most))
        decoding, gammas = decoding[:most], gammas[:most]
        seconds = server.seconds[np.arange(most), gammas]
        reading = float(server.prompts.added(demand.prompt_tokens))
        riding = server.prompts.steps(demand.prompt_tokens)
        own = decoding * seconds
        spread = server.blocks.variation(emitted, demand.output_spread)[gammas]
        variance = spread * own**2 + (demand.prompt_spread * reading) ** 2
        variation = variance / np.maximum(own + riding * seconds + reading, 1e-300) ** 2
        return cls(seconds, decoding, riding, reading, variation)

    @property
    def shares(self) -> Floats:
        """Seconds of the server that a request takes at each batch.

        A prompt that is read step by step has a slot meanwhile, which counts where all are taken.
        """
        batches = np.arange(1, len(self.seconds) + 1)
        steps = self.decoding + self.riding * (batches == len(batches))
        return np.asarray(steps * self.seconds / batches + self.reading)

    @property
    def decoded(self) -> Floats:
        """Sequences that are decoded where 0, 1, … slots are taken, shape (most + 1,)."""
        batches = np.arange(len(self.seconds) + 1.0)
        batches[-1] *= self.decoding[-1] / max(self.decoding[-1] + self.riding, 1.0)
        return batches

    def among(self, full: Floats) -> Floats:
        """Returns how much of a prompt's queue a request meets: none of it with a single slot."""
        return np.asarray((1 - full) * (1 - 1 / len(self.seconds)))


def steady(server: Server, demand: Demand, gamma: ArrayLike, rate: ArrayLike) -> Steady:
    """Returns the steady state.

    Args:
      server: what its steps take and yield.
      demand: what a request asks.
      gamma: drafted tokens a block, one for all batch sizes or one for each, shape (slots,).
      rate: λ, requests a second, above 0, shape (rates,).

    Raises:
      ValueError: if the cache does not hold one request.
    """
    rates = np.atleast_1d(np.asarray(rate, dtype=np.float64))
    needs = _Needs.of(server, demand, gamma)
    most = float(1 / needs.shares[-1])
    borne = np.where(rates < most, rates, np.nan)
    law, full, queue = _law(borne, needs.shares)
    decoded = (law[:, :-1] @ needs.decoded[:-1] + full * needs.decoded[-1]) / borne
    occupied = borne * needs.reading
    among = needs.among(full)
    decoding = decoded - needs.reading * (1 + among * occupied / (1 - occupied))
    waiting = (1 + needs.variation[-1]) / 2 * queue / borne
    first = waiting + _reading_seconds(server, demand, needs, borne, (law, full))
    emitted = max(demand.output_tokens - 1, 1.0)
    values = (decoding * borne, decoding / emitted, first)
    batch, token, first = (np.where(np.isnan(borne), np.inf, each) for each in values)
    return Steady(rates, batch, token, first, most)


def most_rate(server: Server, demand: Demand, gamma: ArrayLike) -> float:
    """Returns the requests a second that the server bears at most; arguments as in steady."""
    return float(1 / _Needs.of(server, demand, gamma).shares[-1])


def _law(rate: Floats, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns π(0) … π(B), the chance that all slots are taken, and the mean number in line."""
    ratios = rate[:, None] * shares
    logs = np.concatenate([np.zeros((len(rate), 1)), np.cumsum(np.log(ratios), axis=1)], axis=1)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    last = ratios[:, -1]
    total = weights[:, :-1].sum(axis=1) + weights[:, -1] / (1 - last)
    law = weights / total[:, None]
    full = law[:, -1] / (1 - last)
    return law, full, full * last / (1 - last)


def _mean(law: Floats, full: Floats, values: Floats) -> Floats:
    """Returns the mean of what each batch has, while there is any."""
    busy = np.concatenate([law[:, 1:-1], full[:, None]], axis=1)
    return np.asarray(busy @ values / np.maximum(busy.sum(axis=1), 1e-300))


def _reading_seconds(
    server: Server, demand: Demand, needs: _Needs, rate: Floats, states: tuple[Floats, Floats]
) -> Floats:
    """Returns the time from having a slot to the first token.

    What is left of the step that runs, prompts of others that are before it, and its own.
    """
    law, full = states
    step, prompts = _mean(law, full, needs.seconds), server.prompts
    share = 0.0 if prompts.chunk is None else demand.prompt_tokens / prompts.chunk
    reading = share * step + needs.reading
    squares = (1 + demand.prompt_spread**2) * reading**2
    others = needs.among(full) * rate * squares / (2 * np.maximum(1 - rate * reading, 1e-9))
    running = law[:, 1:-1] @ needs.seconds[:-1] / 2
    idle = prompts.idle(demand.prompt_tokens)
    own = idle if prompts.chunk is None else needs.riding * step + needs.reading
    return np.asarray(running + others + law[:, 0] * idle + (1 - law[:, 0]) * own)
