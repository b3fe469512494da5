"""Simulates continuous batching event by event: arrivals, prompts, steps, a full cache.

Between two events the batch does not change, and each sequence takes one block per step. So the
simulation jumps to the next arrival, the next end (from a heap of the steps at which requests end)
or the step that fills the cache. A request costs a few operations for any number of steps.
"""

from __future__ import annotations

import heapq
from array import array
from collections import deque
from math import ceil, inf

import numpy as np
from numpy.typing import ArrayLike

from simulator.traffic.demand import Requests, SimulationResult
from simulator.traffic.server import Server

# Tolerance for steps at which requests end, which are sums of floats once γ has changed.
_ROUNDING = 1e-6


def serve(server: Server, requests: Requests, gamma: ArrayLike, *, seed: int) -> SimulationResult:
    """Returns when each request gets its first and its last token.

    Requests start in order of arrival as soon as a slot is free and the cache has space for the
    prompt. If the cache is full, the request that started last is preempted: it becomes the first
    in the queue, and its prompt and its emitted tokens are read again (as vLLM recomputes). If γ
    changes with the batch, the share of its blocks that a request still needs does not change.

    gamma: drafted tokens per block, by batch size and kind of request, broadcast to (slots, kinds).
    seed: seed of the requests' kinds and of the tokens of blocks.
    """
    longest = int((requests.prompt_tokens + requests.output_tokens).max())
    if server.cache_tokens is not None and longest > server.cache_tokens:
        raise ValueError(
            f"the cache must hold a request of {longest} tokens, got {server.cache_tokens:.0f}"
        )
    run = _Run(server, requests, gamma, seed)
    waiting, reading, ends = run.waiting, run.reading, run.ends
    while waiting or reading or ends:
        run.take()
        if reading:
            run.read_chunk()
        elif ends:
            run.decode()
    first, last = (np.array(times) + server.prompts.delay for times in (run.first, run.last))
    return SimulationResult(requests, first, last, run.preemptions)


class _Run:
    """A simulated server. Its arrays hold Python numbers, since these are read one at a time."""

    def __init__(self, server: Server, requests: Requests, gamma: ArrayLike, seed: int) -> None:
        count = len(requests.seconds)
        policy = np.broadcast_to(gamma, (server.slots, server.blocks.kinds))
        emitted, gammas = requests.output_tokens - 1, tuple(np.unique(policy).tolist())
        self.kinds, self.needed = server.drawn(emitted, gammas, seed)
        self.emitted = array("q", emitted.tobytes())
        self.arrivals = array("d", requests.seconds.tobytes())
        self.prompts = array("q", requests.prompt_tokens.tobytes())
        self.server, self.slots = server, server.slots
        self.seconds: list[list[float]] = server.seconds.tolist()
        self.gammas: list[list[int]] = policy.tolist()
        # Time of a step by batch where all kinds draft alike there; else None.
        self.alike: list[float | None] = [
            row[gammas[0]] if min(gammas) == max(gammas) else None
            for row, gammas in zip(self.seconds, self.gammas, strict=True)
        ]
        # Blocks of each request if γ is the same at all batch sizes and for all kinds; else None.
        self.blocks = self.needed[gammas[0]] if len(gammas) == 1 else None
        self.cache = inf if server.cache_tokens is None else server.cache_tokens
        self.chunk = server.prompts.chunk
        longest = max(self.prompts) if self.chunk is None else self.chunk
        self.apart, self.added = server.reading(longest)
        self.first, self.last = array("d", [inf]) * count, array("d", [inf]) * count
        self.clock = self.step = self.held = self.growth = 0.0
        self.preemptions = 0
        self.waiting = deque(range(count))
        # Share of its blocks that a preempted request still needs.
        self.left: dict[int, float] = {}
        # (number of the step that ends it, request) as heapq keeps them; in the order of taking.
        self.ends: list[tuple[float, int]] = []
        self.taken: list[int] = []
        # Requests whose prompts are being read, and their unread prompt tokens.
        self.reading: deque[list[int]] = deque()

    def take(self) -> None:
        """Starts requests that have arrived; if the server is idle, waits for the next one."""
        arrivals, waiting = self.arrivals, self.waiting
        if waiting and not self.ends and not self.reading:
            self.clock = max(self.clock, arrivals[waiting[0]])
        while waiting and arrivals[waiting[0]] <= self.clock and self._takes_next():
            request = waiting.popleft()
            tokens = self._prompt_tokens(request)
            self.held += tokens
            if self.chunk is None:
                known = tokens < len(self.apart)
                seconds = self.apart[tokens] if known else self.server.prompts.apart(tokens)
                self.clock += float(seconds)
                self._start(request)
            else:
                self.reading.append([request, tokens])

    def read_chunk(self) -> None:
        """Simulates one step of all sequences that also reads a chunk of prompts."""
        assert self.chunk is not None
        free, done, reading = self.chunk, [], self.reading
        while free > 0 and reading:
            head = reading[0]
            if head[1] > free:
                head[1] -= free
                free = 0
            else:
                free -= head[1]
                done.append(reading.popleft()[0])
        tokens = self.chunk - free
        if self.ends:
            self._advance(1, self._step_seconds() + self.added[tokens])
        else:
            self.clock += self.apart[tokens]
        for request in done:
            self._start(request)

    def decode(self) -> None:
        """Simulates steps until a request ends, the next one can start, or the cache is full."""
        seconds = self._step_seconds()
        steps = ceil(self.ends[0][0] - self.step - _ROUNDING)
        if self.waiting:
            until = (self.arrivals[self.waiting[0]] - self.clock) / seconds
            if until < steps and self._takes_next():
                steps = ceil(until)
        if self.held + steps * self.growth > self.cache:
            steps = int((self.cache - self.held) / self.growth)
        self._advance(steps if steps > 1 else 1, seconds)

    def _takes_next(self) -> bool:
        """Returns whether a slot is free for the next request, and the cache has space."""
        if not self.waiting or len(self.ends) + len(self.reading) >= self.slots:
            return False
        return self.cache == inf or self.held + self._prompt_tokens(self.waiting[0]) < self.cache

    def _prompt_tokens(self, request: int) -> int:
        if not self.left:
            return self.prompts[request]
        written = 1 - self.left.get(request, 1.0)
        return self.prompts[request] + int(self.emitted[request] * written)

    def _start(self, request: int) -> None:
        """Gives a request its first token, and starts its decoding."""
        if self.clock < self.first[request]:
            self.first[request] = self.clock
        emitted = self.emitted[request]
        if emitted == 0:
            self.last[request] = self.clock
            self.held -= self.prompts[request]
            return
        before = len(self.ends)
        blocks = self._blocks(request, before + 1)
        left = self.left.pop(request, 1.0) if self.left else 1.0
        heapq.heappush(self.ends, (self.step + left * blocks, request))
        self.taken.append(request)
        self.growth += emitted / blocks
        if self.blocks is None:
            self._changed(before)

    def _blocks(self, request: int, batch: int) -> float:
        """Returns the number of blocks of a request's whole output at the γ of a batch size."""
        if self.blocks is not None:
            return self.blocks[request]
        return self.needed[self.gammas[batch - 1][self.kinds[request]]][request]

    def _changed(self, before: int) -> None:
        """Updates the steps at which requests end, if γ was another at the batch size `before`."""
        batch = len(self.ends)
        if 0 in (batch, before) or self.gammas[batch - 1] == self.gammas[before - 1]:
            return
        newest = self.taken[-1] if batch > before else -1
        self.growth = 0.0
        for place, (end, request) in enumerate(self.ends):
            now = self._blocks(request, batch)
            self.growth += self.emitted[request] / now
            if request != newest:
                share = (end - self.step) / self._blocks(request, before)
                self.ends[place] = (self.step + share * now, request)
        heapq.heapify(self.ends)

    def _step_seconds(self) -> float:
        """Makes room in the cache for the next step; returns its seconds, linear in the mean γ."""
        if self.held + self.growth > self.cache:
            self._make_room()
        batch = len(self.ends)
        alike = self.alike[batch - 1]
        if alike is not None:
            return alike
        row, seconds = self.gammas[batch - 1], self.seconds[batch - 1]
        mean = sum(row[self.kinds[request]] for _, request in self.ends) / batch
        low = min(int(mean), len(seconds) - 2)
        return seconds[low] + (mean - low) * (seconds[low + 1] - seconds[low])

    def _advance(self, steps: int, seconds: float) -> None:
        self.clock += steps * seconds
        self.step += steps
        self.held += steps * self.growth
        if self.ends[0][0] <= self.step + _ROUNDING:
            self._end()

    def _end(self) -> None:
        """Ends all requests that have finished their last block."""
        ends, ended = self.ends, self.step + _ROUNDING
        before = len(ends)
        while ends and ends[0][0] <= ended:
            _, request = heapq.heappop(ends)
            self.last[request] = self.clock
            emitted = self.emitted[request]
            self.held -= self.prompts[request] + emitted
            self.growth -= emitted / self._blocks(request, before)
        if not ends:
            self.held = float(sum(self._prompt_tokens(request) for request, _ in self.reading))
            self.growth = 0.0
            self.taken.clear()
        if self.blocks is None:
            self._changed(before)

    def _make_room(self) -> None:
        """Preempts the request that started last, until the cache has space for the next step."""
        while self.held + self.growth > self.cache and len(self.ends) > 1:
            request = self.taken.pop()
            if self.last[request] < inf:
                continue
            before = len(self.ends)
            end = next(end for end, running in self.ends if running == request)
            blocks = self._blocks(request, before)
            self.ends.remove((end, request))
            heapq.heapify(self.ends)
            self.left[request] = (end - self.step) / blocks
            self.held -= self._prompt_tokens(request)
            self.growth -= self.emitted[request] / blocks
            self.waiting.appendleft(request)
            self.preemptions += 1
            self._changed(before)
