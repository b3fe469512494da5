"""What steps and prompts take a server, by how many requests are there, from its own streams."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from traffic_client import Answer, Client

from simulator.acceptance.conversions import alpha_from_block_efficiency
from simulator.acceptance.iid import Iid
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand
from simulator.traffic.server import Prompts, Server, by_batch

# What both engines read of prompts in one pass unless told otherwise.
CHUNK = 2048
# Tokens of a request that are timed together, so that steps and prompts can be told apart.
WINDOW = 16
# Tokens of one step come to different clients at slightly different times.
JITTER_SECONDS = 0.002


@dataclass
class Pricing:
    """What a server did for clients whose number went up and down.

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
    prompt_added: seconds that a prompt adds to a step of others.
    """

    gamma: int
    by_batch: dict[int, float]
    length: float
    prompt: float
    prompt_added: float

    def server(self, slots: int, demand: Demand) -> Server:
        """Returns it for the simulator."""
        steps = by_batch(list(self.by_batch), [[each] for each in self.by_batch.values()], slots)
        blocks = Blocks(np.ones((1, 1)))
        if self.gamma > 0:
            alpha = float(alpha_from_block_efficiency(self.length, self.gamma))
            blocks = Blocks.of(Iid(alpha), self.gamma)
        # What a prompt spares where it shares a step stands as the time of a prompt of one token.
        spared = max(self.prompt - self.prompt_added, 0.0)
        tokens = round(demand.prompt_tokens)
        points = {1: spared} | {
            n * tokens: spared + n * self.prompt_added for n in range(1, slots + 1)
        }
        return Server(np.repeat(steps, self.gamma + 1, axis=1), blocks, Prompts(points, CHUNK))


def priced(pricing: Pricing, gamma: int) -> Priced:
    """Returns what the answers say.

    The time in which a request gets so many tokens is a sum of steps, whose time depends on the
    batch, and of what the prompts add that were read meanwhile: by least squares, none below 0.
    """
    length = 1 + pricing.accepted / pricing.drafts if pricing.drafts > 0 else 1.0
    batches = pricing.stairs
    features, seconds = _windows(pricing.answers, batches)
    *steps, added = nnls(features, seconds)[0].tolist()
    ends = np.array([answer.tokens[-1] for answer in pricing.answers])
    sent = np.array([answer.sent for answer in pricing.answers])
    alone = [
        answer.first
        for answer in pricing.answers
        if ((sent < answer.tokens[0]) & (ends > answer.sent)).sum() == 1
    ]
    prompt = float(np.mean(alone))
    return Priced(
        gamma,
        {batch: length * step for batch, step in zip(batches, steps, strict=True)},
        length,
        prompt,
        added,
    )


def _windows(
    answers: list[Answer], batches: list[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns what happened in each window, shape (windows, batches + 1), and its seconds.

    Columns: tokens at each batch, those between two counting for both by their nearness; prompts.
    """
    firsts = np.array([each.tokens[0] for each in answers])
    lasts = np.array([each.tokens[-1] for each in answers])
    rows, seconds = [], []
    for answer in answers:
        times = np.array(answer.tokens)
        edges = np.linspace(0, len(times) - 1, max(2, len(times) // WINDOW + 1)).astype(int)
        for start, end in pairwise(edges):
            low, high = times[start], times[end]
            if high == low:  # A step brought them all.
                continue
            both = np.clip(np.minimum(lasts, high) - np.maximum(firsts, low), 0, None).sum()
            near = [np.interp(both / (high - low), batches, row) for row in np.eye(len(batches))]
            read = ((firsts > low + JITTER_SECONDS) & (firsts <= high + JITTER_SECONDS)).sum()
            rows.append([*((end - start) * np.array(near)), read])
            seconds.append(high - low)
    return np.array(rows), np.array(seconds)
