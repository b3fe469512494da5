"""Speculative decoding: reads a prompt, then decodes the text block by block.

Every drafter, policy and acceptance rule plugs into `speculative_blocks`. `autoregressive_blocks`
decodes with the target and no draft.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from reference.drafter import Drafter, ReadsStates
from reference.laws import Sampling
from reference.models.model import Model, positions_of, require_finite, text_limit, transfer
from reference.policies import Policy
from reference.records import Block, Generation, Stopping
from reference.rules import STRICT, Rule
from reference.verify import verify_draft


@dataclass(frozen=True, slots=True)
class Subject:
    """A target, its drafter, how the target samples and stops, and the rule that accepts tokens."""

    target: Model
    drafter: Drafter
    sampling: Sampling
    stopping: Stopping
    rule: Rule = STRICT


class Clock:
    """Measures the seconds of one block: in the drafter's passes, the target's, and elsewhere."""

    def __init__(self, drafter: Drafter | None, target: Model) -> None:
        self._drafter = drafter
        self._target = target
        self._began = time.perf_counter()
        self._at_start = self._forward_seconds()

    def _forward_seconds(self) -> tuple[float, float]:
        drafting = 0.0 if self._drafter is None else self._drafter.forward_seconds
        return drafting, self._target.forward_seconds

    def seconds(self) -> tuple[float, float, float]:
        """Returns seconds in the drafter's passes, in the target's passes, and elsewhere."""
        passes = zip(self._forward_seconds(), self._at_start, strict=True)
        draft, verify = (now - then for now, then in passes)
        return draft, verify, time.perf_counter() - self._began - draft - verify


@torch.inference_mode()
def speculative_blocks(
    subject: Subject, text: list[int], policy: Policy, generator: torch.Generator
) -> Iterator[Block]:
    """Yields the blocks of one text as they are decoded; each takes one target call.

    Leviathan et al. 2023, Algorithm 1: draft some tokens, let the target judge all of them in one
    call, append the accepted tokens and one token of the target's own.

    text: the ids to continue, as `start` returns them; the target has read all but the last.
    generator: on the target's device.
    """
    target, drafter, stopping = subject.target, subject.drafter, subject.stopping
    prefix = len(text)
    text = list(text)
    blocks: list[Block] = []
    ending = None
    while ending is None:
        clock = Clock(drafter, target)
        # The target adds a token to every block, so the draft may have one token less than is left.
        rest = prefix + stopping.max_new_tokens - len(text)
        gamma = min(policy.gamma(blocks), rest - 1)
        # The policy may also end the draft early, by the draft's confidence.
        draft = drafter.propose(text, gamma, policy, generator)
        verified = verify_draft(
            target,
            draft,
            text,
            drafter_name=drafter.name,
            sampling=subject.sampling,
            rule=subject.rule,
            generator=generator,
        )
        emitted, ending = stopping.cut(text, verified.tokens, emitted=len(text) - prefix)
        text += emitted
        # Accepted tokens after the text's end are not emitted, so they do not count.
        accepted = min(verified.accepted, len(emitted))
        block = Block(
            gamma, verified.drafted, tuple(emitted), accepted, *clock.seconds(), ending=ending
        )
        blocks.append(block)
        yield block


@torch.inference_mode()
def autoregressive_blocks(
    target: Model,
    text: list[int],
    *,
    sampling: Sampling,
    stopping: Stopping,
    generator: torch.Generator,
) -> Iterator[Block]:
    """Yields a block of one token per target call, without a draft.

    text: the ids to continue, as `start` returns them; the target has read all but the last.
    """
    prefix = len(text)
    text = list(text)
    ending = None
    while ending is None:
        clock = Clock(None, target)
        logits = target.extend(torch.tensor(text[-1:], device=target.device))
        law = sampling.laws(logits, text)
        tokens, witness = transfer(law.draw(generator), law.witness)
        require_finite(witness, target.name, len(text))
        emitted, ending = stopping.cut(text, tokens, emitted=len(text) - prefix)
        text += emitted
        yield Block(0, (), tuple(emitted), 0, *clock.seconds(), ending=ending)


def opening_text(target: Model, prompt: Sequence[int], stopping: Stopping) -> list[int]:
    """Returns the ids that decoding continues: the prompt, or an encoder-decoder's start token.

    Refuses a prompt that is empty or too long.
    """
    if len(prompt) == 0:
        raise ValueError("a prompt must have at least one token, got none")
    text = target.beginning(prompt)
    limit = text_limit(target, len(text))
    if limit is not None and len(text) + stopping.max_new_tokens > limit:
        raise ValueError(
            f"prompt and new tokens must fit the {positions_of(target, limit)}, "
            f"got {len(text)} + {stopping.max_new_tokens} tokens"
        )
    return text


def start(
    target: Model, drafter: Drafter | None, prompt: Sequence[int], stopping: Stopping
) -> tuple[list[int], float]:
    """Reads the prompt; returns the ids to continue and the seconds of the prompt's passes."""
    text = opening_text(target, prompt, stopping)
    began = time.perf_counter()
    # The drafter starts first, as it may refuse a prompt that the target accepts. It reads the
    # target's states afterwards.
    if drafter is not None:
        drafter.start(prompt, text)
    target.start(prompt)
    if isinstance(drafter, ReadsStates):
        drafter.read_prompt(text)
    return text, time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class Session:
    """A text whose prompt has been read. Iterating over `blocks` decodes the rest, only once."""

    text: Sequence[int]
    prefill_seconds: float
    blocks: Iterator[Block]

    def finished(self) -> Generation:
        """Decodes the remaining blocks and returns the whole text."""
        return Generation(tuple(self.text), tuple(self.blocks), self.prefill_seconds)


def plain_session(
    target: Model,
    prompt: Sequence[int],
    *,
    sampling: Sampling,
    stopping: Stopping,
    generator: torch.Generator,
) -> Session:
    """Returns a session in which the target decodes without a draft."""
    text, seconds = start(target, None, prompt, stopping)
    blocks = autoregressive_blocks(
        target, text, sampling=sampling, stopping=stopping, generator=generator
    )
    return Session(text, seconds, blocks)


def speculative_session(
    subject: Subject, prompt: Sequence[int], policy: Policy, generator: torch.Generator
) -> Session:
    """Returns a session of speculative decoding, which is lossless if its rule is lossless."""
    text, seconds = start(subject.target, subject.drafter, prompt, subject.stopping)
    return Session(text, seconds, speculative_blocks(subject, text, policy, generator))
