"""Decodes texts in turns of a few blocks, so that slow periods of the machine affect all equally.

The speed of a shared machine changes within seconds, by up to a factor of two. Texts that take
turns of a few hundredths of a second, each with its own caches, meet the same speed in each round,
which `at_one_speed` divides out. In each round all texts reach the same length, so the blocks of a
round do not depend on a clock.
"""

import copy
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

import numpy as np
import psutil
import torch
from torch import Tensor, nn

from estimator.timing.precision import polish
from estimator.timing.rates import PARTS
from reference.drafter import Drafter
from reference.models.compiled_model import CompiledModel
from reference.models.model import Model
from reference.records import Block, Generation
from reference.speculative import Session

# Turn of the baseline: long compared with refilling caches, short compared with speed changes.
TURN_SECONDS = 0.025
# Share of free memory for duplicates; the rest is for other growth.
SHARE_OF_FREE = 0.5
# A kind of block in fewer rounds is ignored: its level would only reflect their speeds.
LEAST_ROUNDS = 4
# A round with fewer kinds is ignored: its speed would only reflect their noise.
LEAST_KINDS = 3

Pair = tuple[Model, Drafter]
Clock = Callable[[], float]
InTurns = tuple[Generation, tuple[int, ...]]
"""A text, and the number of the round in which each of its blocks was decoded."""


def turn_tokens(baseline: Generation) -> int:
    """Returns the number of tokens by which each text grows in one round."""
    step = float(np.median([block.seconds for block in baseline.blocks]))
    return max(round(TURN_SECONDS / step), 1) if step > 0 else 1


def decode_in_turns(
    starts: Sequence[Callable[[], Session]],
    *,
    tokens: int,
    order: np.random.Generator,
    clock: Clock | None = None,
    first_round: int = 0,
    progress: Callable[[], object] = lambda: None,
) -> list[InTurns]:
    """Returns texts that were decoded in turns, in random order in each round.

    A text's first turn includes its prompt. Once fewer than half of the texts are unfinished, all
    remaining blocks count for one last round, because few texts cannot show a round's speed.

    starts: functions that start the sessions, at least one.
    tokens: growth of each text per round, at least 1.
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
                began = 0.0 if clock is None else clock()
                begun_text = starts[text]()
                prompt = begun_text.prefill_seconds if clock is None else clock() - began
                texts[text] = replace(begun_text, prefill_seconds=prompt)
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
        (
            Generation(tuple(generation.text), tuple(blocks[text]), generation.prefill_seconds),
            tuple(rounds[text]),
        )
        for text, generation in sorted(texts.items())
    ]


def processor_clock(device: torch.device) -> Clock | None:
    """Returns this thread's CPU clock; None unless a single thread on the CPU does all the work.

    The clock stops while other programs use the processor. With more programs than processors, each
    is suspended for milliseconds at a time, which does not slow all turns of a round equally. But
    CPU time also leaves out the time in which threads wait for each other or for a device.
    """
    one_thread = device.type == "cpu" and torch.get_num_threads() == 1
    # On other systems it ticks about sixty times per second.
    return time.thread_time if one_thread and hasattr(time, "CLOCK_THREAD_CPUTIME_ID") else None


def next_block(blocks: Iterator[Block], clock: Clock | None) -> Block:
    """Returns the next block; with a clock, its times are scaled to sum to the clock's time."""
    began = 0.0 if clock is None else clock()
    block = next(blocks)
    if clock is None or block.seconds == 0:
        return block
    return _scaled(block, (clock() - began) / block.seconds)


def _scaled(block: Block, factor: float) -> Block:
    return replace(block, **{part: factor * getattr(block, part) for part in PARTS})


def at_one_speed(runs: Sequence[tuple[str, InTurns]]) -> list[Generation]:
    """Returns the texts, with the times that their blocks would take in a round of median speed.

    A block's time is modelled as a typical time of its decoder and draft length, times a factor of
    its round, which all decoders share. The factor is divided out.

    runs: the texts, each with its decoder's name.
    """
    slowness, evened = _round_slowness(runs), []
    for _, (text, rounds) in runs:
        factors = [1 / slowness.get(number, 1.0) for number in rounds]
        # The prompt was read in its first round.
        prefill = text.prefill_seconds / slowness.get(min(rounds, default=-1), 1.0)
        blocks = tuple(map(_scaled, text.blocks, factors))
        evened.append(replace(text, prefill_seconds=prefill, blocks=blocks))
    return evened


def _round_slowness(runs: Sequence[tuple[str, InTurns]]) -> dict[int, float]:
    """Returns, by round, its time divided by the median round's time; {} for too few blocks."""
    seconds: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for arm, (text, rounds) in runs:
        for block, number in zip(text.blocks, rounds, strict=True):
            if block.seconds > 0:  # else the clock is too coarse
                seconds[arm, len(block.drafted)][number].append(block.seconds)
    kinds = [series for series in seconds.values() if len(series) >= LEAST_ROUNDS]
    counts = Counter(number for rounds in kinds for number in rounds)
    numbers = [number for number, count in counts.items() if count >= LEAST_KINDS]
    if not numbers:
        return {}
    _, slowness = polish(
        [[median(rounds.get(number, [np.nan])) for number in numbers] for rounds in kinds]
    )
    return dict(zip(numbers, slowness.tolist(), strict=True))


@torch.inference_mode()
def duplicates(pair: Pair, count: int, *, longer: float) -> list[Pair]:
    """Returns the pair and its duplicates, at most `count` pairs and as many as fit the memory.

    A duplicate shares weights and tables, and has its own caches, counts and times. A compiled
    model cannot be duplicated, because its compiled programs work with a single cache.

    pair: a target and a drafter that have decoded a text, so that the size of caches is known.
    longer: length of the longest text to decode over the length of the text already decoded.
    """
    parts = _parts(pair)
    copy_bytes = longer * sum(part.nbytes for part in parts if isinstance(part, Tensor))
    fitting = SHARE_OF_FREE * free_bytes(pair[0].device) / max(copy_bytes, 1.0)
    shared = {id(part): part for part in parts if isinstance(part, nn.Module)}
    if any(isinstance(part, CompiledModel) for part in parts):
        return [pair]
    copies = (copy.deepcopy(pair, {**shared}) for _ in range(int(min(count - 1, fitting))))
    return [pair, *copies]


def free_bytes(device: torch.device) -> float:
    """Returns the free memory of a device, including memory that the system can release."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return float(psutil.virtual_memory().available)


def _parts(whole: object) -> list[object]:
    """Returns an object and all objects in it, each once, but none inside modules or tensors."""
    parts_by_id: dict[int, object] = {}
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if id(part) in parts_by_id or isinstance(part, int | str | bytes | type):
            continue
        parts_by_id[id(part)] = part
        if isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, Sequence | set):
            waiting += part
        elif not isinstance(part, nn.Module | Tensor):
            waiting += getattr(part, "__dict__", {}).values()
    return list(parts_by_id.values())
