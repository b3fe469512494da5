"""The speed of a server with a given number of requests in it.

Let k requests never leave. A prompt of P tokens is read in D = P / chunk steps, one prompt after
another, and its output takes n more. The number of prompts read per step follows from the mean
values of a closed network with one queue and a delay (Reiser and Lavenberg 1980; an arrival waits
for half of the prompt that is being read):

    x(k) = min(k / (⌈D⌉ + w(k) + n), 1 / D),    w(k) = D (q(k-1) - D x(k-1) / 2)

q is the number of prompts that wait or are read. x(k) n sequences are then decoded, a step takes
s(x n) + a x if a prompt adds a seconds, and requests end at the rate x(k) / (s + a x). Where
decoding stops while a prompt is read, x = k / n.
"""

from dataclasses import dataclass

import numpy as np

from simulator.numerics.arguments import Floats
from simulator.traffic.demand import Demand
from simulator.traffic.regular import none_arrives
from simulator.traffic.server import Server


@dataclass(frozen=True, slots=True)
class Population:
    """Mean times of a server with 1, 2, … requests, shape (draws, requests) unless stated.

    decoding: steps per output, shape (draws,).
    share: mean seconds from one request's end to the next request's end.
    step: seconds of a step that decodes and reads no prompt.
    base: mean seconds of a step, not counting the time that prompts add to it.
    prompts: prompts read per step.
    reading: seconds that a prompt adds to the steps that read it.
    """

    decoding: Floats
    share: Floats
    step: Floats
    base: Floats
    prompts: Floats
    reading: Floats

    @property
    def max_rate(self) -> Floats:
        """Requests per second with all slots taken, shape (draws,)."""
        return np.asarray(1 / self.share[..., -1])


def population(server: Server, demand: Demand, gamma: int) -> Population:
    """Returns the mean times with 1 to `max_batch` requests in the server; gamma: see `steady`."""
    return server.derived((demand, gamma), lambda: _population(server, demand, gamma))


def max_rate(server: Server, demand: Demand, gamma: int) -> Floats:
    """Returns the requests per second that the server can sustain, shape (draws,)."""
    full = slice(-1, None)
    return server.derived(
        ("max rate", demand, gamma),
        lambda: _population(server, demand, gamma, full).max_rate[()],
    )


def _population(
    server: Server, demand: Demand, gamma: int, wanted: slice = slice(None)
) -> Population:
    """Returns `population`; wanted: which numbers of requests."""
    blocks, emitted = server.blocks, demand.output_tokens - 1
    # All γ need the same sums.
    needed = server.derived(("needed", emitted), lambda: blocks.needed(emitted).mean(axis=-2))
    decoding = needed[..., gamma]
    most = server.max_batch(demand)
    seconds, every = server.seconds[..., :most, gamma], np.arange(1, most + 1.0)
    present = every[wanted]
    if server.prompts.chunk is None:
        seconds = seconds[..., wanted]
        reading = server.prompts.apart(demand.prompt_tokens) + np.zeros_like(seconds)
        share = decoding[..., None] * seconds / present + reading
        return Population(decoding, share, seconds, seconds, np.zeros_like(share), reading)
    # Where the cache binds, requests enter until it is full, and each token that a sequence then
    # grows by drives out one that has to be read again: an output's worth for every request.
    held = np.inf if server.cache_tokens is None else server.cache_tokens
    crowded = most < server.slots and most * (demand.prompt_tokens + demand.output_tokens) > held
    tokens = demand.prompt_tokens + np.where(every == most, crowded * demand.output_tokens, 0.0)
    prompts = _prompts_per_step(tokens / server.prompts.chunk, decoding, every)[..., wanted]
    tokens = tokens[wanted]
    decoded = prompts * decoding[..., None]
    # How probable it is that at least one of the requests is decoded, or read.
    some = 1 - np.maximum(1 - decoded / present, 0.0) ** present
    none_read = np.maximum(1 - prompts / present, 0.0) ** present
    # With all slots taken, prompts are read as requests end, and not as they arrive.
    by_arrivals = none_arrives(prompts, demand.replicas)
    read = 1 - none_read * np.where(present == server.slots, 1.0, by_arrivals)
    step = _between(seconds, np.maximum(decoded / np.maximum(some, 1e-300), 1.0))
    reading = _reading(server, tokens, prompts, prompts / read)
    base = some * step + (1 - some) * server.prompts.apart(1)
    return Population(decoding, base / prompts + reading, step, base, prompts, reading)


def _prompts_per_step(chunks: Floats, decoding: Floats, present: Floats) -> Floats:
    """Returns the prompts read per step; chunks: chunks per prompt, for each number of requests."""
    # In Python's own numbers, which one after another are quicker than arrays.
    known = list(zip(present.tolist(), chunks.tolist(), np.ceil(chunks).tolist(), strict=True))
    rates = []
    for steps in decoding.ravel().tolist():
        queued = rate = 0.0
        for count, share, whole in known:
            least = whole + steps
            waiting = max(queued - rate * share / 2, 0.0) * share
            rate = min(count / (least + waiting), 1 / share)
            queued = count - rate * (least - share)
            rates.append(rate)
    return np.array(rates).reshape(*decoding.shape, len(present))


def _reading(server: Server, tokens: Floats, prompts: Floats, together: Floats) -> Floats:
    """Returns the seconds that a prompt adds to the steps that read it.

    A short prompt shares its step with others. A long prompt fills several chunks, the last one in
    part. `together` is the mean number of prompts in a step that reads at least one.
    """
    chunk, added = server.prompts.chunk, server.prompts.added
    assert chunk is not None
    width = np.minimum(tokens * together, chunk)
    whole, rest = np.divmod(tokens, chunk)
    apart = whole * added(chunk) + added(np.maximum(rest, 1.0))
    apart = np.where(tokens < chunk, added(width) * tokens / width, apart)
    busy = np.minimum(prompts * tokens / chunk, 1.0)
    return np.asarray((1 - busy) * apart + busy * added(chunk) * tokens / chunk)


def _between(seconds: Floats, batch: Floats) -> Floats:
    """Returns step times at fractional batch sizes of at least 1, linear between whole sizes."""
    low = np.minimum(batch.astype(np.int64), seconds.shape[-1])
    high = np.minimum(low + 1, seconds.shape[-1])
    below, above = (np.take_along_axis(seconds, index - 1, -1) for index in (low, high))
    return np.asarray(below + (batch - low) * (above - below))
