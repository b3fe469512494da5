"""What steps and prompts take a server, by how many requests are there, from its own streams."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
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


@dataclass(frozen=True)
class Turn:
    """What one turn of pricing brought.

    answers: of clients that ask again when they are answered, by how many clients there were.
    drafts, accepted: blocks that drafted, and their tokens that were accepted.
    """

    answers: dict[int, list[Answer]]
    drafts: int
    accepted: int


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

    def slower(self, factor: float) -> "Priced":
        """Returns the same server on a machine that takes a factor of the time."""
        return replace(
            self,
            by_batch={batch: factor * seconds for batch, seconds in self.by_batch.items()},
            prompt=factor * self.prompt,
            prompt_added=factor * self.prompt_added,
        )

    def pace(self, answers: list[Answer], slots: int) -> float:
        """Returns what steps and prompts of these answers took over what they were priced at."""
        batches = list(self.by_batch)
        features, seconds = _windows(answers, batches, slots)
        steps = [self.by_batch[batch] / self.length for batch in batches]
        return float(seconds.sum() / (features @ [*steps, self.prompt_added]).sum())

    def server(self, slots: int, demand: Demand) -> Server:
        """Returns it for the simulator."""
        steps = by_batch(list(self.by_batch), [[each] for each in self.by_batch.values()], slots)
        blocks = Blocks(np.ones((1, 1)))
        if self.gamma > 0:
            alpha = float(alpha_from_block_efficiency(self.length, self.gamma))
            blocks = Blocks.of(Iid(alpha), self.gamma)
        # What a prompt spares where it shares a step stands as the time of a prompt of one token.
        spared, tokens = self.prompt - self.prompt_added, round(demand.prompt_tokens)
        points = {1: spared} | {
            n * tokens: spared + n * self.prompt_added for n in range(1, slots + 1)
        }
        return Server(np.repeat(steps, self.gamma + 1, axis=1), blocks, Prompts(points, CHUNK))


def turn(client: Client, batches: list[int], seconds: float) -> Turn:
    """Prices a server, so many seconds at each batch."""
    speculates = client.gamma > 0
    before = client.server.counts() if speculates else None
    answers = {batch: client.in_turn(batch, seconds) for batch in batches}
    if before is None:
        return Turn(answers, 0, 0)
    after = client.server.counts()
    return Turn(answers, after.drafts - before.drafts, after.accepted - before.accepted)


def priced(turns: list[Turn], gamma: int) -> Priced:
    """Returns what turns say together.

    What a prompt adds follows from clients that ask at once: the time to their first tokens grows
    by it with each more. The time in which a request gets so many tokens, less the prompts that
    were read meanwhile, is a sum of steps, whose time depends on the batch: by least squares.
    """
    drafts = sum(each.drafts for each in turns)
    length = 1 + sum(each.accepted for each in turns) / drafts if drafts > 0 else 1.0
    batches = list(turns[0].answers)
    parts = [
        _windows(each.answers[batch], batches, batch) for each in turns for batch in batches
    ]
    features, seconds = (np.concatenate(each) for each in zip(*parts, strict=True))
    # All requests of a single client come to an idle server.
    prompt = float(np.median([answer.first for each in turns for answer in each.answers[1]]))
    added = np.median(
        [(_together(each.answers[n], n) - prompt) / (n - 1) for each in turns for n in batches[1:]]
    )
    decoding = seconds - added * features[:, -1]
    steps = np.linalg.lstsq(features[:, :-1], decoding)[0].tolist()
    return Priced(
        gamma,
        {batch: length * step for batch, step in zip(batches, steps, strict=True)},
        length,
        prompt,
        float(np.clip(added, 0.0, prompt)),
    )


def _together(answers: list[Answer], clients: int) -> float:
    """Returns the mean time to the first token of what all clients asked first, at once."""
    first = sorted(answers, key=lambda answer: answer.sent)[:clients]
    return float(np.mean([answer.first for answer in first]))


def _windows(
    answers: list[Answer], batches: list[int], most: int
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
            both = np.clip(np.minimum(lasts, high) - np.maximum(firsts, low), 0, None).sum()
            batch = np.clip(both / (high - low), 1, most)
            near = [np.interp(batch, batches, row) for row in np.eye(len(batches))]
            read = ((firsts > low + JITTER_SECONDS) & (firsts <= high + JITTER_SECONDS)).sum()
            rows.append([*((end - start) * np.array(near)), read])
            seconds.append(high - low)
    return np.array(rows), np.array(seconds)
