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
from simulator.traffic.law import Law, variability
from simulator.traffic.population import Population, population
from simulator.traffic.reading import NEARLY, least_seconds, reading_seconds, together
from simulator.traffic.server import Server
from simulator.traffic.spread import Spread

# Shares of the capacity up to which times per token have errors of a few per cent
# (`benchmarks/traffic_closed_form.py`, `--near` and `--chunks`): of most loads; where a chunk of
# prompts takes longer than LONG_CHUNK of a request's decoding; and where a prompt in chunks takes
# longer than LONG_PROMPT of it.
TRUSTED = 0.8
CHUNKS_TRUSTED, LONG_CHUNK = 0.3, 0.125
PROMPTS_TRUSTED, LONG_PROMPT = 0.5, 0.075


@dataclass(frozen=True, slots=True)
class Steady:
    """A server's steady state, shape (rates,); with several γ or draws (γ, draws, rates).

    Times are infinite at a rate that the server does not sustain.

    rate: requests per second.
    batch: sequences decoded together on average, idle times included.
    token_seconds: seconds between two tokens of a request; NaN if outputs have a single token.
    first_seconds: seconds from a request's arrival to its first token.
    max_rate: requests per second that the server can sustain, shape (γ, draws).
    spread: how the times of requests differ.
    """

    rate: Floats
    batch: Floats
    token_seconds: Floats
    first_seconds: Floats
    max_rate: Floats
    spread: Spread

    @classmethod
    def stacked(cls, states: Sequence[Steady]) -> Steady:
        """Returns several states at the same rates along a new first axis."""
        return cls(
            states[0].rate,
            np.stack([state.batch for state in states]),
            np.stack([state.token_seconds for state in states]),
            np.stack([state.first_seconds for state in states]),
            np.stack([state.max_rate for state in states]),
            Spread.stacked([state.spread for state in states]),
        )

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether the server sustains the rate."""
        return np.asarray(self.rate < self.max_rate[..., None])

    def within(self, targets: LatencyTargets) -> NDArray[np.bool_]:
        """Returns whether mean times meet the targets."""
        return np.asarray(self.stable & targets.met(self.first_seconds, self.token_seconds))

    def share(self, targets: LatencyTargets) -> Floats:
        """Returns the share of requests that meet the targets; 0 where the server is overloaded."""
        return np.asarray(np.where(self.stable, self.spread.share(targets), 0.0))

    def request_seconds(self, demand: Demand) -> Floats:
        """Returns the time from a request's arrival to its last token."""
        if demand.output_tokens == 1:
            return self.first_seconds
        return np.asarray(self.first_seconds + (demand.output_tokens - 1) * self.token_seconds)


def steady(server: Server, demand: Demand, gamma: int, rate: ArrayLike) -> Steady:
    """Returns the server's steady state at each rate of requests.

    gamma: drafted tokens per block; 0 without speculation.
    rate: λ, requests per second, above 0, shape (rates,) or (draws, rates).
    """
    rates = np.atleast_1d(np.asarray(rate, dtype=np.float64))
    load = (demand, gamma, rates.shape, rates.tobytes())
    return server.derived(load, lambda: _steady(server, demand, gamma, rates))


def _steady(server: Server, demand: Demand, gamma: int, rates: Floats) -> Steady:
    present = population(server, demand, gamma)
    most = present.max_rate
    sustained = np.where(rates < most[..., None], rates, np.nan)
    law = Law.of(rates, present, variability(demand))
    if server.prompts.chunk is None:
        added, decoding = None, _decode_apart(server, demand, law, sustained)
    else:
        added = together(server, demand, law, sustained)
        decoding = _decode_with_chunks(server, demand, present, law, sustained, added)
    variation = _variation(server, demand, gamma, present)[..., None]
    line = (1 + variation) / 2 * law.tail / (1 - law.tail) / sustained
    reading = reading_seconds(server, demand, law, sustained, added) + server.prompts.delay
    values = (
        decoding * sustained,
        decoding / max(demand.output_tokens - 1, 1.0),
        reading + law.full * line,
    )
    batch, token, first = (np.where(np.isnan(sustained), np.inf, mean) for mean in values)
    if demand.output_tokens == 1:
        batch, token = 0 * sustained, np.full_like(token, np.nan)
    blocks = _blocks_variation(server, demand, 0.0)[..., gamma, None]
    alone = least_seconds(server, demand, law) + server.prompts.delay
    least = np.minimum(alone, reading)
    spread = Spread(
        token_seconds=token,
        token_variance=np.log1p(_between_requests(demand, law, sustained, decoding) + blocks),
        least_seconds=least,
        reading_seconds=reading - least,
        line_seconds=line,
        line_share=law.full,
    )
    return Steady(rates, batch, token, first, most[()], spread)


def _decode_apart(server: Server, demand: Demand, law: Law, rate: Floats) -> Floats:
    """Returns the time from first to last token if decoding stops for prompts (Little's law)."""
    reading = np.asarray(server.prompts.apart(demand.prompt_tokens))
    occupied = rate * reading
    return np.asarray(law.present / rate - reading * (1 + law.among * occupied / (1 - occupied)))


def _decode_with_chunks(
    server: Server, demand: Demand, present: Population, law: Law, rate: Floats, added: Floats
) -> Floats:
    """Returns the time from first to last token if decoding steps also read prompts.

    Other requests' prompts add c(i) seconds to an output's i-th step. Step 1 reads the prompts that
    arrived during the t(0) seconds of the step before: c(1) = r t(0), where r = λ a and each prompt
    adds a seconds. The excess over the mean, c(i) - c(∞), shrinks by the factor 1 - 1/J per step,
    J = max(1, D) / (1 - r), where a prompt fills D chunks. added: the result of `together`.
    """
    chunk = server.prompts.chunk
    assert chunk is not None
    chunks, steps = demand.prompt_tokens / chunk, present.decoding[..., None]
    load = np.minimum(rate * law.reading, NEARLY)
    whole = server.prompts.added(chunk)
    decoding = law.step + added
    first = np.minimum(load * decoding, whole) * law.company
    later = law.added
    if chunks < 1:
        later = np.minimum(later, load * law.step / (1 - load))
    memory = max(1.0, chunks) / (1 - load)
    excess = (first - later) * memory * (1 - (1 - 1 / memory) ** steps)
    return np.asarray(steps * (law.step + later) + excess)


def _variation(server: Server, demand: Demand, gamma: int, present: Population) -> Floats:
    """Returns the squared coefficient of variation of the time in a slot if all slots are full."""
    decoding = present.decoding * present.step[..., -1]
    reading = present.reading[..., -1]
    blocks = _blocks_variation(server, demand, demand.output_spread)
    variance = blocks[..., gamma] * decoding**2 + (demand.prompt_spread * reading) ** 2
    # A prompt takes this many decoding steps; none where decoding stops for prompts.
    steps = np.ceil(demand.prompt_tokens / (server.prompts.chunk or np.inf))
    mean = decoding + steps * present.base[..., -1] + reading
    return np.asarray(variance / np.maximum(mean, 1e-300) ** 2)


def _blocks_variation(server: Server, demand: Demand, spread: float) -> Floats:
    """Returns `Blocks.variation` of the demand's outputs, by γ."""
    emitted, blocks = demand.output_tokens - 1, server.blocks
    return server.derived(("variation", emitted, spread), lambda: blocks.variation(emitted, spread))


def _between_requests(demand: Demand, law: Law, rate: Floats, decoding: Floats) -> Floats:
    """Returns the squared coefficient of variation, between requests, of their time per token.

    Only the variation by the load is counted, not by blocks. The number k of requests forgets its
    past within τ = Var k / (λ z) seconds, as a linear birth-death process does. So its average over
    D seconds has the variance Var k · 2x (1 - x (1 - exp(-1/x))), x = τ / D. The number of prompts
    that are read meanwhile has the variance λ D z.
    """
    noise = variability(demand)
    memory = np.maximum(law.variance / (noise * rate * np.maximum(decoding, 1e-300)), 1e-9)
    kept = 2 * memory * (1 + memory * np.expm1(-1 / memory))
    prompts = noise * rate * law.reading**2 / np.maximum(decoding, 1e-300)
    return np.asarray(law.step_variation * kept + prompts)


def trusted(server: Server, demand: Demand, gamma: int) -> float:
    """Returns the share of the capacity up to which times per token at γ are within some 5 %.

    Beyond it they are mostly too short: prompts gather while a long step serves those before them.

    gamma: drafted tokens per block; 0 without speculation.
    """
    prompts, chunk = server.prompts, server.prompts.chunk
    if chunk is None:
        return TRUSTED
    blocks = demand.output_tokens / float(server.blocks.tokens[:, gamma].mean())
    decoding = blocks * float(server.seconds[0, gamma])
    if float(prompts.apart(chunk)) > LONG_CHUNK * decoding:
        return CHUNKS_TRUSTED
    long = float(prompts.apart(demand.prompt_tokens)) > LONG_PROMPT * decoding
    return PROMPTS_TRUSTED if long else TRUSTED
