"""Decodes whole texts: the prompt's pass, then blocks until the text ends."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from reference.drafter import Clock, Drafter, ReadsStates
from reference.laws.sampling import Sampling
from reference.models.model import Model, positions_of, require_finite, text_limit
from reference.policies.policy import Policy
from reference.records import Block, Generation
from reference.speculative import Subject, speculative_blocks
from reference.stopping import Stopping


@torch.inference_mode()
def autoregressive_blocks(
    target: Model,
    text: list[int],
    *,
    sampling: Sampling,
    stopping: Stopping,
    generator: torch.Generator,
) -> Iterator[Block]:
    """Yields one block of one token for each target call.

    Args:
      target: after `reference.generation.start` on this text.
      text: the ids to continue; not changed.
      sampling: turns the target's logits into its distribution.
      stopping: when the text ends.
      generator: random numbers, on the target's device.
    """
    prefix = len(text)
    text = list(text)
    ending = None
    while ending is None:
        clock = Clock(None, target)
        logits = target.extend(torch.tensor(text[-1:], device=target.device))
        law = sampling.laws(logits, text)
        token, witness = torch.cat([law.draw(generator), law.witness.double()]).tolist()
        require_finite([witness], target.name, len(text))
        emitted, ending = stopping.cut(text, [int(token)], emitted=len(text) - prefix)
        text += emitted
        yield Block(0, (), tuple(emitted), 0, *clock.seconds(), ending=ending)


def opening_text(target: Model, prompt: Sequence[int], stopping: Stopping) -> list[int]:
    """Returns the ids that decoding will continue. Runs no model.

    Raises:
      ValueError: if the prompt is empty, or it and the new tokens exceed the target's positions.
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
    # The target accepts the prompt; the drafter may still refuse it.
    if drafter is not None:
        drafter.start(prompt, text)
    target.start(prompt)
    if isinstance(drafter, ReadsStates):
        drafter.read_prompt(text)
    return text, time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class Session:
    """A text whose prompt has been read; its blocks are decoded as they are iterated over.

    text: the ids to continue.
    prefill_seconds: time of the prompt's passes.
    blocks: an iterator, to be used once.
    """

    text: Sequence[int]
    prefill_seconds: float
    blocks: Iterator[Block]

    def finished(self) -> Generation:
        """Decodes the rest and returns the whole text."""
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
    """Returns a session of speculative decoding, whose text has the target's distribution."""
    text, seconds = start(subject.target, subject.drafter, prompt, subject.stopping)
    return Session(text, seconds, speculative_blocks(subject, text, policy, generator))


def decode(
    target: Model,
    prompt: Sequence[int],
    *,
    sampling: Sampling,
    stopping: Stopping,
    generator: torch.Generator,
) -> Generation:
    """Returns the target's own continuation of prompt, one token at a time."""
    return plain_session(
        target, prompt, sampling=sampling, stopping=stopping, generator=generator
    ).finished()
