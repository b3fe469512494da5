"""Times of a server's steps and prompts by number of requests, from its token streams."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from traffic_client import Answer, Client

from simulator.acceptance.acceptance import Iid
from simulator.acceptance.tokens import alpha_from_block_efficiency
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand
from simulator.traffic.server import Prompts, Server, by_batch

# Default of both engines for the prompt tokens of one pass.
CHUNK = 2048
# Tokens of one step come to different clients at slightly different times.
JITTER_SECONDS = 0.002


@dataclass
class Pricing:
    """Times of a server for clients whose number went up and down.

    stairs: how many clients there were by turns.
    drafts, accepted: blocks that drafted, and their tokens that were accepted.
    """

    stairs: list[int]
    answers: list[Answer] = field(default_factory=list)
    drafts: int = 0
    accepted: int = 0

    def run(self, client: Client, seconds: float, done: Callable[[], bool]) -> None:
        """Adds what a server does until all is done."""
        before = client.server.counts() if client.gamma > 0 else None
        self.answers += client.in_stairs(self.stairs, seconds, done)
        if before is not None:
            after = client.server.counts()
            self.drafts += after.drafts - before.drafts
            self.accepted += after.accepted - before.accepted


@dataclass(frozen=True)
class Priced:
    """A server as it was priced.

    gamma: drafted tokens a block.
    by_batch: seconds a step, by batch.
    length: tokens a step, 1 without speculation.
    prompt: seconds to the first token of a prompt by itself.
    prompt_added: seconds that a prompt adds to a step of one other, and of as many as were priced.
    """

    gamma: int
    by_batch: dict[int, float]
    length: float
    prompt: float
    prompt_added: tuple[float, float]

    def server(self, slots: int, demand: Demand, batch: float) -> Server:
        """Returns the server for the simulator, with prompts priced at this batch."""
        steps = by_batch(list(self.by_batch), [[time] for time in self.by_batch.values()], slots)
        blocks = Blocks(np.ones((1, 1)))
        if self.gamma > 0:
            alpha = float(alpha_from_block_efficiency(self.length, self.gamma))
            blocks = Blocks.of(Iid(alpha), self.gamma)
        added = float(np.interp(batch, [1, max(self.by_batch)], self.prompt_added))
        # The time that a prompt saves by sharing a step is stored as the time of one token.
        spared, tokens = max(self.prompt - added, 0.0), round(demand.prompt_tokens)
        points = {1: spared} | {n * tokens: spared + n * added for n in range(1, slots + 1)}
        return Server(np.repeat(steps, self.gamma + 1, axis=1), blocks, Prompts(points, CHUNK))


def priced(pricing: Pricing, gamma: int) -> Priced:
    """Returns the prices that fit the answers by non-negative least squares.

    The time between two steps of a request is the time of a step, which depends on the batch, plus
    the time of the prompts that were read with it.
    """
    batches = pricing.stairs
    features, seconds = _steps(pricing.answers, batches, speculates=gamma > 0)
    *steps, few, many = nnls(features, seconds)[0].tolist()
    ends = np.array([answer.tokens[-1] for answer in pricing.answers])
    sent = np.array([answer.sent for answer in pricing.answers])
    alone = [
        answer.first
        for answer in pricing.answers
        if ((sent < answer.tokens[0]) & (ends > answer.sent)).sum() == 1
    ]
    length = 1 + pricing.accepted / pricing.drafts if pricing.drafts > 0 else 1.0
    by_batch = dict(zip(batches, steps, strict=True))
    return Priced(gamma, by_batch, length, float(np.mean(alone)), (few, many))


def steps_of(answer: Answer) -> NDArray[np.float64]:
    """Returns when each step of a request ended, in seconds."""
    times = np.array(answer.tokens)
    return times[np.diff(times, prepend=-np.inf) > JITTER_SECONDS]


def _steps(
    answers: list[Answer], batches: list[int], *, speculates: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the features of each step, shape (steps, batches + 2), and its seconds.

    Features: weights of the batch sizes, shared between the two nearest ones; then the number of
    prompts read in the step, shared between batch 1 and the largest batch.
    """
    firsts, lasts = (np.array([answer.tokens[n] for answer in answers])[:, None] for n in (0, -1))
    parts, seconds = [], []
    for answer in answers:
        # A block's tokens come together; without blocks each token is a step.
        times = steps_of(answer) if speculates else np.array(answer.tokens)
        times = times[np.diff(times, prepend=-np.inf) > 0]
        low, high = times[:-1], times[1:]
        both = np.clip(np.minimum(lasts, high) - np.maximum(firsts, low), 0, None).sum(axis=0)
        batch = both / (high - low)
        near = [np.interp(batch, batches, row) for row in np.eye(len(batches))]
        many = np.interp(batch, [1, batches[-1]], [0, 1])
        later = (firsts > low + JITTER_SECONDS) & (firsts <= high + JITTER_SECONDS)
        read = later.sum(axis=0)
        parts.append(np.column_stack([*near, read * (1 - many), read * many]))
        seconds.append(high - low)
    return np.concatenate(parts), np.concatenate(seconds)
