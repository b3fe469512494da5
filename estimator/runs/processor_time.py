"""Which clock times a block: a processor's own where one thread computes, else the wall's.

Where programs outnumber processors each is put aside for milliseconds at a time, more often in long
blocks than in short ones. That is no speed that a round shares, so nothing divides it out; but the
thread's own time stands still meanwhile. A neighbour on the same host slows both clocks alike.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from reference.generation import Begun
from reference.records import Block


def processor_clock(device: torch.device) -> Callable[[], float] | None:
    """Returns the clock of this thread's own time on a processor; None where it says too little.

    It stands while another program has the processor. Where several threads compute, or a device
    does, they wait for one another, which is no processor's time.

    Args:
      device: that decodes.
    """
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    # Elsewhere it ticks some sixty times a second.
    return time.thread_time if alone and hasattr(time, "CLOCK_THREAD_CPUTIME_ID") else None


def begun_by(start: Callable[[], Begun], clock: Callable[[], float] | None) -> Begun:
    """Returns a text, begun, whose prompt took the time that it took.

    Args:
      start: reads the prompt.
      clock: as for `next_block`.
    """
    began = 0.0 if clock is None else clock()
    text = start()
    return text if clock is None else replace(text, prefill_seconds=clock() - began)


def next_block(blocks: Iterator[Block], clock: Callable[[], float] | None) -> Block:
    """Returns the next block, its parts in proportion to the time that it took.

    Args:
      blocks: of a text that goes on.
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
