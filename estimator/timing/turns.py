"""Texts decoded in turns of a few blocks, so that what slows a machine down slows all of them.

The speed of a machine that others share changes within seconds, by up to a factor of two, and less
within a fraction of a second. Texts that run one after the other meet different machines; texts
that take turns of a few hundredths of a second meet the same one in each round, whose speed can
then be divided out (`estimator.timing.speeds`).

Texts advance by tokens, not by seconds: in each round all of them become as long. So contexts grow
alike, all end together, and which blocks share a round depends on no clock.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from reference.generation import Session
from reference.records import Block, Generation

# A turn of the baseline: long beside what a change of caches costs, short beside changes of speed.
TURN_SECONDS = 0.025


@dataclass(frozen=True, slots=True)
class InTurns:
    """A text, and the round that each of its blocks ran in.

    rounds: numbers, not descending.
    """

    text: Generation
    rounds: tuple[int, ...]


def turn_tokens(baseline: Generation) -> int:
    """Returns by how many tokens texts grow in each round."""
    step = float(np.median([block.seconds for block in baseline.blocks]))
    return max(round(TURN_SECONDS / step), 1) if step > 0 else 1


def decode_in_turns(
    starts: Sequence[Callable[[], Session]],
    *,
    tokens: int,
    order: np.random.Generator,
    clock: Callable[[], float] | None = None,
    first_round: int = 0,
    progress: Callable[[], object] = lambda: None,
) -> list[InTurns]:
    """Returns texts that were decoded in turns, in random order in each round.

    A prompt is read in its text's first turn. Once fewer than half of the texts go on, what is
    left of them belongs to the last round before: too few would tell of its speed.

    Args:
      starts: read the prompts; at least one.
      tokens: that each text grows by in a round, at least 1.
      order: of turns.
      clock: as for `next_block`.
      first_round: its number.
      progress: called at each text's end.
    """
    texts: dict[int, Session] = {}
    blocks: list[list[Block]] = [[] for _ in starts]
    rounds: list[list[int]] = [[] for _ in starts]
    lengths = [0] * len(starts)
    going = set(range(len(starts)))
    number, wanted = first_round, 0
    while going:
        wanted += tokens
        for text in order.permutation(sorted(going)).tolist():
            if text not in texts:
                texts[text] = timed_session(starts[text], clock)
            while lengths[text] < wanted and text in going:
                block = next_block(texts[text].blocks, clock)
                blocks[text].append(block)
                rounds[text].append(number)
                lengths[text] += len(block.tokens)
                if block.ending is not None:
                    going.discard(text)
                    progress()
        if 2 * len(going) >= len(starts):
            number += 1
    return [
        InTurns(
            Generation(tuple(texts[text].text), tuple(made), texts[text].prefill_seconds), tuple(of)
        )
        for text, (made, of) in enumerate(zip(blocks, rounds, strict=True))
    ]


def processor_clock(device: torch.device) -> Callable[[], float] | None:
    """Returns the clock of this thread's own time on a processor; None where it says too little.

    It stands while another program has the processor: where programs outnumber processors each is
    put aside for milliseconds at a time, which is no speed that a round shares. Where several
    threads compute, or a device does, they wait for one another, which is no processor's time.
    """
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    # Elsewhere it ticks some sixty times a second.
    return time.thread_time if alone and hasattr(time, "CLOCK_THREAD_CPUTIME_ID") else None


def timed_session(start: Callable[[], Session], clock: Callable[[], float] | None) -> Session:
    """Returns a text, begun, whose prompt took the time that it took."""
    began = 0.0 if clock is None else clock()
    text = start()
    return text if clock is None else replace(text, prefill_seconds=clock() - began)


def next_block(blocks: Iterator[Block], clock: Callable[[], float] | None) -> Block:
    """Returns the next block, its parts in proportion to the time that it took.

    Args:
      clock: tells the time that counts; None: what the block itself says.
    """
    began = 0.0 if clock is None else clock()
    block = next(blocks)
    if clock is None or block.seconds == 0:
        return block
    return scaled(block, (clock() - began) / block.seconds)


def scaled(block: Block, factor: float) -> Block:
    """Returns a block whose parts, drafting, verifying and other, took so many times as long."""
    return replace(
        block,
        draft_seconds=factor * block.draft_seconds,
        verify_seconds=factor * block.verify_seconds,
        other_seconds=factor * block.other_seconds,
    )
