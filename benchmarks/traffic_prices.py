"""What steps and prompts take a server, by how many requests are there."""

from dataclasses import dataclass

import numpy as np
from traffic_client import Client, window

from simulator.acceptance.conversions import alpha_from_block_efficiency
from simulator.acceptance.iid import Iid
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand
from simulator.traffic.server import Prompts, Server, by_batch

# What llama.cpp reads of prompts in one pass: its n_batch.
CHUNK = 2048


@dataclass(frozen=True)
class Priced:
    """A server as it was priced.

    by_batch: seconds a step, by batch.
    length: tokens a step, 1 without speculation.
    prompt: seconds to the first token of a prompt by itself.
    prompt_added: seconds of the server that each of several prompts takes.
    """

    by_batch: dict[int, float]
    length: float
    prompt: float
    prompt_added: float

    def server(self, slots: int, demand: Demand) -> Server:
        """Returns it for the simulator, at the γ that the length needs at least."""
        steps = by_batch(list(self.by_batch), [[each] for each in self.by_batch.values()], slots)
        gamma = int(np.ceil(self.length - 1))
        seconds = np.repeat(steps, gamma + 1, axis=1)
        alpha = float(alpha_from_block_efficiency(self.length, gamma)) if gamma > 0 else 0.0
        blocks = Blocks.of(Iid(alpha), gamma) if gamma > 0 else Blocks(np.ones((1, 1)))
        # What a prompt spares where it shares a step stands as the time of a prompt of one token.
        points = {1: self.prompt - self.prompt_added, round(demand.prompt_tokens): self.prompt}
        return Server(seconds, blocks, Prompts(points, CHUNK))


@dataclass(frozen=True)
class Turn:
    """What one turn took of one server.

    steps: seconds a token of all sequences over their number, by batch.
    prompts: seconds to the last first token, by batch.
    drafts, accepted: blocks that drafted, and their tokens that were accepted.
    """

    steps: dict[int, float]
    prompts: dict[int, float]
    drafts: int
    accepted: int


def turn(client: Client, batches: list[int]) -> Turn:
    """Prices a server once at each batch."""
    before = client.server.counts()
    steps, prompts = {}, {}
    for batch in batches:
        answers = client.together(np.zeros(batch))
        seconds, came = window(answers)
        steps[batch] = seconds / came
        prompts[batch] = max(each.tokens[0] for each in answers) - answers[0].sent
    after = client.server.counts()
    return Turn(
        steps, prompts, after.drafts - before.drafts, after.accepted - before.accepted
    )


def priced(turns: list[Turn]) -> Priced:
    """Returns what turns say together: the median of each batch."""
    drafts = sum(each.drafts for each in turns)
    accepted = sum(each.accepted for each in turns)
    length = 1 + accepted / drafts if drafts > 0 else 1.0
    batches = list(turns[0].steps)
    steps = {batch: float(np.median([each.steps[batch] for each in turns])) for batch in batches}
    prompts = {
        batch: float(np.median([each.prompts[batch] for each in turns])) for batch in batches
    }
    slots = max(prompts)
    return Priced(
        {batch: length * seconds for batch, seconds in steps.items()},
        length,
        prompts[1],
        min(prompts[1], (prompts[slots] - prompts[1]) / (slots - 1)),
    )
