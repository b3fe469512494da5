"""Decodes texts in turns of a few blocks, so that slow periods of the machine affect all equally.

The speed of a shared machine changes within seconds, by up to a factor of two, and less within a
fraction of a second. Texts decoded one after the other meet different speeds. Texts that take turns
of a few hundredths of a second meet the same speed in each round, and `estimator.timing.speeds` can
divide it out.

Texts advance by tokens, not by seconds: in each round all of them reach the same length. So their
contexts grow alike, all end together, and the blocks of a round do not depend on a clock.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from reference.records import Block, Generation
from reference.speculative import Session

# Turn of the baseline: long compared with refilling caches, short compared with speed changes.
TURN_SECONDS = 0.025


InTurns = tuple[Generation, tuple[int, ...]]
"""A text, and the number of the round in which each of its blocks was decoded."""


def turn_tokens(baseline: Generation) -> int:
    """Returns the number of tokens by which texts grow in each round."""
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

    A text's first turn includes its prompt. Once fewer than half of the texts continue, their rest
    belongs to the last full round, because few texts do not show a round's speed.

    Args:
      starts: functions that start the sessions, at least one.
      tokens: growth of each text per round, at least 1.
      order: random numbers for the order of turns.
      clock: see `next_block`.
      progress: called at the end of each text.
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
        (Generation(tuple(texts[text].text), tuple(made), texts[text].prefill_seconds), tuple(of))
        for text, (made, of) in enumerate(zip(blocks, rounds, strict=True))
    ]


def processor_clock(device: torch.device) -> Callable[[], float] | None:
    """Returns this thread's CPU clock, or None if it is too coarse.

    It does not advance while another program uses the processor. If there are more programs than
    processors, each is suspended for milliseconds at a time, which is not a speed that a round
    shares. Several threads, or a device, wait for each other, which is not CPU time.
    """
    one_thread = device.type == "cpu" and torch.get_num_threads() == 1
    # On other systems it ticks about sixty times per second.
    return time.thread_time if one_thread and hasattr(time, "CLOCK_THREAD_CPUTIME_ID") else None


def timed_session(start: Callable[[], Session], clock: Callable[[], float] | None) -> Session:
    """Returns a session whose prompt time is measured by a clock."""
    began = 0.0 if clock is None else clock()
    text = start()
    return text if clock is None else replace(text, prefill_seconds=clock() - began)


def next_block(blocks: Iterator[Block], clock: Callable[[], float] | None) -> Block:
    """Returns the next block, scaled to the clock's time; without a clock its own times remain."""
    began = 0.0 if clock is None else clock()
    block = next(blocks)
    if clock is None or block.seconds == 0:
        return block
    return scaled(block, (clock() - began) / block.seconds)


def scaled(block: Block, factor: float) -> Block:
    """Returns a block whose parts (drafting, verifying, other) are scaled by a factor."""
    return replace(
        block,
        draft_seconds=factor * block.draft_seconds,
        verify_seconds=factor * block.verify_seconds,
        other_seconds=factor * block.other_seconds,
    )
