"""Decoders that decode a part of a text, so that a measurement of costs takes less time.

Blocks of one text cost nearly the same, and texts differ: many short texts give more precise costs
than few long ones. A block costs more, the longer its text is. So the texts of different prompts
are decoded from different positions on, and together they cover the whole length. All decoders of a
prompt decode the same part. The ids before it are read with the prompt, from a text that the target
sampled before.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import torch

from estimator.timing.arms import Decoder
from estimator.timing.batched import Ids, Prompts
from reference.models.model import Model
from reference.records import Block
from reference.speculative import Session, Subject

# A text is divided into this many parts at most.
MOST_PARTS = 3
# Shorter parts would have too few blocks with long drafts.
LEAST_TOKENS = 16


Parts = Mapping[tuple[int, ...], tuple[Ids, int]]
"""The part to decode after each prompt, by the prompt's ids; after other prompts the whole text.

A part is given by the ids before it, which are read with the prompt, and by the number of tokens,
at least 1, after which its last block ends.
"""


def text_parts(target: Model, prompts: Prompts, texts: Sequence[Ids | None]) -> Parts:
    """Returns the part to decode after each prompt.

    Ordered by length, the prompts take the first, second and third part in turn, so each part
    follows prompts of all lengths. There are at most as many parts as prompts. The result lacks
    prompts after which the whole text is decoded: before short texts, and prompts of an
    encoder-decoder, to which no ids can be added.

    texts: the ids after each prompt that the target sampled before; None if they are not known.
    """
    parts = {}
    ordered = sorted(zip(prompts, texts, strict=True), key=lambda pair: len(pair[0]))
    for number, (prompt, text) in enumerate(ordered):
        if text is None or target.beginning(prompt) != list(prompt):
            continue
        count = min(MOST_PARTS, len(prompts), len(text) // LEAST_TOKENS)
        if count > 1:
            part = number % count
            first, end = (at * len(text) // count for at in (part, part + 1))
            parts[tuple(prompt)] = (text[:first], end - first)
    return parts


def in_parts(decoders: Mapping[str, Decoder], parts: Parts) -> dict[str, Decoder]:
    """Returns decoders that start the given ones, and end a text after the prompt's part."""
    # Equal decoders stay equal, so that they need one warm-up.
    of_part = {decoder: partial(_begin, decoder, parts) for decoder in decoders.values()}
    return {arm: of_part[decoder] for arm, decoder in decoders.items()}


def _begin(
    decoder: Decoder, parts: Parts, subject: Subject, prompt: Ids, generator: torch.Generator
) -> Session:
    if tuple(prompt) not in parts:
        return decoder(subject, prompt, generator)
    read, tokens = parts[tuple(prompt)]
    left = max(subject.stopping.max_new_tokens - len(read), 1)
    rest = replace(subject, stopping=replace(subject.stopping, max_new_tokens=left))
    session = decoder(rest, [*prompt, *read], generator)
    return replace(session, blocks=_first(session.blocks, tokens))


def _first(blocks: Iterator[Block], tokens: int) -> Iterator[Block]:
    """Yields blocks until they have this many tokens; the last one keeps its full draft."""
    for block in blocks:
        tokens -= len(block.tokens)
        yield block if tokens > 0 or block.ending is not None else replace(block, ending="length")
        if tokens <= 0:
            return
