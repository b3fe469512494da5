"""The time from a request's slot to its first token: running steps, earlier prompts, its own."""

from __future__ import annotations

import numpy as np

from simulator.numerics.arguments import Floats
from simulator.traffic.demand import Demand
from simulator.traffic.law import Law
from simulator.traffic.regular import same_step, step_before
from simulator.traffic.server import Server

# Largest load by prompts in formulas that diverge at 1.
NEARLY = 0.98


def together(server: Server, demand: Demand, law: Law, rate: Floats) -> Floats:
    """Returns the seconds that all prompts add to the step in which a request's prompt ends."""
    chunk = server.prompts.chunk
    assert chunk is not None
    load = np.minimum(rate * law.reading, NEARLY)
    others = load * _met_step(demand, law, rate, demand.prompt_tokens / chunk)
    others = others * same_step(rate * law.busy_step, demand.replicas)
    return np.asarray(np.minimum(law.reading + others, server.prompts.added(chunk)))


def reading_seconds(
    server: Server, demand: Demand, law: Law, rate: Floats, added: Floats | None
) -> Floats:
    """Returns the time from getting a slot to the first token.

    It is the rest of the running step, the prompts of earlier requests, and the request's own
    prompt. If a chunk holds several prompts, the next step reads all that arrived in one step.

    added: the result of `together`; None if decoding stops for prompts.
    """
    prompts, idle = server.prompts, np.asarray(server.prompts.idle(demand.prompt_tokens))
    share = 0.0 if prompts.chunk is None else demand.prompt_tokens / prompts.chunk
    of_request = idle if prompts.chunk is None else np.ceil(share) * law.base + law.reading
    reading = share * law.base + law.reading
    others = law.among * _queue(demand, rate * reading) * reading
    seconds = (1 - law.idle) * (of_request + law.company * law.base / 2) + others
    if added is not None and share < 1:
        step = law.base + added
        seconds = np.maximum(
            seconds, (1 - law.idle) * step + _met_step(demand, law, rate, share) / 2
        )
    return np.asarray(seconds + law.idle * idle)


def least_seconds(server: Server, demand: Demand, law: Law) -> Floats:
    """Returns the time from a slot to the first token without any other request's prompt."""
    prompts, idle = server.prompts, np.asarray(server.prompts.idle(demand.prompt_tokens))
    if prompts.chunk is None:
        return idle + 0 * law.base
    of_request = np.ceil(demand.prompt_tokens / prompts.chunk) * law.base + law.reading
    return np.asarray((1 - law.idle) * of_request + law.idle * idle)


def _queue(demand: Demand, load: Floats) -> Floats:
    """Returns how many prompts a prompt waits for, on average (Kraemer and Langenbach-Belz 1976).

    load: share of the time in which a prompt is read.
    """
    gaps, lengths, load = 1 / demand.replicas, demand.prompt_spread**2, np.maximum(load, 1e-12)
    even = np.exp(-2 * (1 - load) * (1 - gaps) ** 2 / (3 * load * (gaps + lengths)))
    return np.asarray(load * (gaps + lengths) * even / (2 * np.maximum(1 - load, 1e-3)))


def _met_step(demand: Demand, law: Law, rate: Floats, chunks: float) -> Floats:
    """Returns the mean seconds of the step that runs when a request arrives, 0 in an idle server.

    Long steps gather more prompts, which make the next steps long. Replicas that get requests in
    turn meet fewer prompts.
    """
    load = np.minimum(rate * law.reading, NEARLY)
    bursts = 1 - load**2 * max(1 - chunks**2, 0.0)
    prompts = law.busy_step - law.base + law.reading * load / bursts
    met = step_before(rate * law.busy_step, demand.replicas)
    return np.asarray((1 - law.idle) * (law.base + prompts * met))
