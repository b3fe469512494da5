"""The steady state of a server in closed form, at any rate of requests.

Requests arrive at rate λ. With k of them present, one ends every r(k) seconds of the server
(`simulator.traffic.population`). With processor sharing the number present has the distribution

    π(k) = π(0) Π_{j ≤ k} λ r(j)                           (Cohen 1979)

for any distribution of output lengths. B requests are served together, so the server sustains at
most 1 / r(B) requests per second; further requests wait. The wait is exact for exponential lengths
and corrected by (1 + cv²)/2 for others (Lee and Longton 1959), exact again at B = 1 (Pollaczek and
Khinchine). Where decoding stops for prompts, r(k) = n s(k) / k + t for a prompt of t seconds and n
steps of s(k) seconds; prompts have priority but interrupt no step (Cobham 1954).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import Floats
from simulator.traffic.demand import Demand, LatencyTargets
from simulator.traffic.population import Population, population
from simulator.traffic.server import Server

# Largest load by prompts in formulas that diverge at 1.
_NEARLY = 0.98


@dataclass(frozen=True, slots=True)
class Steady:
    """A server's steady state, shape (rates,); with several γ or draws (γ, draws, rates).

    Times are infinite at a rate that the server does not sustain.

    rate: requests per second.
    batch: sequences decoded together on average, idle times included.
    token_seconds: seconds between two tokens of a request; NaN if outputs have a single token.
    first_seconds: seconds from a request's arrival to its first token.
    max_rate: requests per second that the server can sustain, shape (γ, draws).
    """

    rate: Floats
    batch: Floats
    token_seconds: Floats
    first_seconds: Floats
    max_rate: Floats

    @classmethod
    def stacked(cls, states: Sequence[Steady]) -> Steady:
        """Returns several states at the same rates along a new first axis."""
        names = ("batch", "token_seconds", "first_seconds", "max_rate")
        found = [np.stack([getattr(state, name) for state in states]) for name in names]
        return cls(states[0].rate, *found)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether the server sustains the rate."""
        return np.asarray(self.rate < self.max_rate[..., None])

    def within(self, targets: LatencyTargets) -> NDArray[np.bool_]:
        """Returns whether mean times meet the targets."""
        return np.asarray(self.stable & targets.met(self.first_seconds, self.token_seconds))

    def request_seconds(self, demand: Demand) -> Floats:
        """Returns the time from a request's arrival to its last token."""
        if demand.output_tokens == 1:
            return self.first_seconds
        return np.asarray(self.first_seconds + (demand.output_tokens - 1) * self.token_seconds)


@dataclass(frozen=True, slots=True)
class _Law:
    """Means over the distribution of the number of requests, shape (draws, rates) each.

    company: share of the slots that other requests can occupy: 0 with a single slot.
    idle, full: probability that no request is in the server, and that no slot is free.
    present: mean number of requests in service.
    step: seconds of a step without prompts once an arriving request has joined.
    added: seconds that other requests' prompts add to this step.
    base: seconds of a step without its prompts, while the server has a request.
    reading: seconds that a prompt adds to the steps that read it.
    busy_step: seconds of a step with its prompts, while the server has a request.
    """

    company: float
    idle: Floats
    full: Floats
    present: Floats
    step: Floats
    added: Floats
    base: Floats
    reading: Floats
    busy_step: Floats

    @property
    def among(self) -> Floats:
        """Factor in [0, 1] on the wait for other requests' prompts; 0 with a single slot."""
        return self.company * (1 - self.full)

    @classmethod
    def of(cls, rate: Floats, found: Population) -> _Law:
        present = np.arange(1, found.share.shape[-1] + 1)
        logs = np.cumsum(np.log(found.share), axis=-1)[..., None, :]
        logs = logs + np.log(rate)[..., None] * present
        scale = np.maximum(logs.max(axis=-1), 0.0)
        weights, idle = np.exp(logs - scale[..., None]), np.exp(-scale)
        # Requests that wait in line are counted with the last batch.
        weights[..., -1] /= 1 - rate * found.share[..., -1:]
        # An arrival raises the number by one.
        raised = np.concatenate([found.step[..., 1:], found.step[..., -1:]], axis=-1)
        prompts = found.prompts * found.reading
        steps = 1 / (found.base + prompts)
        # Other requests' prompts: with all slots taken, as many as with one request less.
        last = prompts[..., -2:-1] if prompts.shape[-1] > 1 else np.zeros_like(prompts)
        met = np.concatenate([prompts[..., :-1], last], axis=-1)
        columns = [np.ones_like(steps), present + 0 * steps, raised, met]
        columns += [found.base, found.reading, steps]
        means = np.moveaxis(weights @ np.stack(columns, axis=-1), -1, 0)
        busy, number, step, added, base, reading, steps = means
        total = idle + busy
        step = step + idle * found.step[..., :1]
        values = [each / total for each in (idle, weights[..., -1], number, step, added)]
        values += [base / busy, reading / busy, busy / steps]
        return cls(1 - 1 / len(present), *values)


def steady(server: Server, demand: Demand, gamma: int, rate: ArrayLike) -> Steady:
    """Returns the server's steady state at each rate of requests.

    gamma: drafted tokens per block; 0 without speculation.
    rate: λ, requests per second, above 0, shape (rates,) or (draws, rates).
    """
    rates = np.atleast_1d(np.asarray(rate, dtype=np.float64))
    found = population(server, demand, gamma)
    most = found.max_rate
    sustained = np.where(rates < most[..., None], rates, np.nan)
    law = _Law.of(sustained, found)
    last = sustained / most[..., None]
    decode = _decode_apart if server.prompts.chunk is None else _decode_with_chunks
    decoding = decode(server, demand, found, law, sustained)
    variation = _variation(server, demand, gamma, found)[..., None]
    waiting = (1 + variation) / 2 * law.full * last / (1 - last) / sustained
    first = waiting + _reading_seconds(server, demand, law, sustained)
    values = (decoding * sustained, decoding / max(demand.output_tokens - 1, 1.0), first)
    batch, token, first = (np.where(np.isnan(sustained), np.inf, each) for each in values)
    if demand.output_tokens == 1:
        batch, token = 0 * sustained, np.full_like(token, np.nan)
    return Steady(rates, batch, token, first, most[()])


def max_rate(server: Server, demand: Demand, gamma: int) -> Floats:
    """Returns the requests per second that the server can sustain; arguments: see `steady`."""
    return np.asarray(population(server, demand, gamma).max_rate)[()]


def _decode_apart(
    server: Server, demand: Demand, found: Population, law: _Law, rate: Floats
) -> Floats:
    """Returns the time from first to last token if decoding stops for prompts (Little's law)."""
    reading = np.asarray(server.prompts.apart(demand.prompt_tokens))
    occupied = rate * reading
    return np.asarray(law.present / rate - reading * (1 + law.among * occupied / (1 - occupied)))


def _decode_with_chunks(
    server: Server, demand: Demand, found: Population, law: _Law, rate: Floats
) -> Floats:
    """Returns the time from first to last token if decoding steps also read prompts.

    Other requests' prompts add c(i) seconds to an output's i-th step. Step 1 reads the prompts that
    arrived during the t(0) seconds of the step before: c(1) = r t(0), where r = λ a and each prompt
    adds a seconds. The excess over the mean, c(i) - c(∞), shrinks by the factor 1 - 1/J per step,
    J = max(1, D) / (1 - r), where a prompt fills D chunks.
    """
    chunk = server.prompts.chunk
    assert chunk is not None
    chunks, steps = demand.prompt_tokens / chunk, found.decoding[..., None]
    load = np.minimum(rate * law.reading, _NEARLY)
    whole = server.prompts.added(chunk)
    own = law.step + _together(server, demand, law, rate)
    first = np.minimum(load * own, whole) * law.company
    later = law.added
    if chunks < 1:
        later = np.minimum(later, load * law.step / (1 - load))
    memory = max(1.0, chunks) / (1 - load)
    excess = (first - later) * memory * (1 - (1 - 1 / memory) ** steps)
    return np.asarray(steps * (law.step + later) + excess)


def _variation(server: Server, demand: Demand, gamma: int, found: Population) -> Floats:
    """Returns the squared coefficient of variation of the time in a slot if all slots are full."""
    own = found.decoding * found.step[..., -1]
    reading = found.reading[..., -1]
    blocks = server.blocks.variation(demand.output_tokens - 1, demand.output_spread)
    variance = blocks[..., gamma] * own**2 + (demand.prompt_spread * reading) ** 2
    # A prompt takes this many decoding steps; none where decoding stops for prompts.
    steps = np.ceil(demand.prompt_tokens / (server.prompts.chunk or np.inf))
    mean = own + steps * found.base[..., -1] + reading
    return np.asarray(variance / np.maximum(mean, 1e-300) ** 2)


def _met_step(law: _Law, rate: Floats, chunks: float) -> Floats:
    """Returns the mean seconds of the step that runs when a request arrives, 0 in an idle server.

    Long steps gather more prompts, which make the next steps long.
    """
    load = np.minimum(rate * law.reading, _NEARLY)
    bursts = 1 - load**2 * max(1 - chunks**2, 0.0)
    return np.asarray((1 - law.idle) * (law.busy_step + law.reading * load / bursts))


def _together(server: Server, demand: Demand, law: _Law, rate: Floats) -> Floats:
    """Returns the seconds that all prompts add to the step in which a request's prompt ends."""
    chunk = server.prompts.chunk
    assert chunk is not None
    load = np.minimum(rate * law.reading, _NEARLY)
    others = load * _met_step(law, rate, demand.prompt_tokens / chunk)
    return np.asarray(np.minimum(law.reading + others, server.prompts.added(chunk)))


def _reading_seconds(server: Server, demand: Demand, law: _Law, rate: Floats) -> Floats:
    """Returns the time from getting a slot to the first token.

    It is the rest of the running step, the prompts of earlier requests, and the request's own
    prompt. If a chunk holds several prompts, the next step reads all that arrived in one step.
    """
    prompts, idle = server.prompts, np.asarray(server.prompts.idle(demand.prompt_tokens))
    share = 0.0 if prompts.chunk is None else demand.prompt_tokens / prompts.chunk
    own = idle if prompts.chunk is None else np.ceil(share) * law.base + law.reading
    reading = share * law.base + law.reading
    squares = (1 + demand.prompt_spread**2) * reading**2
    others = law.among * rate * squares / (2 * np.maximum(1 - rate * reading, 1e-3))
    found = (1 - law.idle) * (own + law.company * law.base / 2) + others
    if prompts.chunk is not None and share < 1:
        step = law.base + _together(server, demand, law, rate)
        found = np.maximum(found, (1 - law.idle) * step + _met_step(law, rate, share) / 2)
    return np.asarray(found + law.idle * idle)
