"""Big Little Decoder's loop: Algorithm 1 of Kim et al. 2023, from parts of speculative decoding.

It needs a loop of its own because a text may end with a draft that the large model never reads
("while y[-1] is not the end of text"). So a draft may fill the text to its last token, and a block
may have no call of the large model. Neither is possible in speculative decoding.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from reference.drafter import Clock, Draft
from reference.models.model import require_finite
from reference.policies import Policy
from reference.records import Block, Generation, Stopping
from reference.speculative import Session, Subject, start
from reference.verify import verify_draft


@dataclass(frozen=True, slots=True)
class BildBlock(Block):
    """A block of BiLD.

    computed: number of distributions that the small model computed: one per drafted token, and one
      more if it was not confident of the next.
    read: whether the large model ran; it does not read a draft that ends the text.
    """

    computed: int
    read: bool

    @property
    def target_calls(self) -> int:
        return int(self.read)

    @property
    def draft_calls(self) -> int:
        return self.computed


def read_part(run: Generation) -> Generation:
    """Returns the blocks of a text that the large model read."""
    return replace(run, blocks=tuple(block for block in run.blocks if block.target_calls > 0))


def unread_ending(
    draft: Draft, text: Sequence[int], *, drafter_name: str, stopping: Stopping, emitted: int
) -> tuple[int, ...]:
    """Returns the ids of a draft that ends the text without a large call; empty if it does not.

    emitted: number of ids of the text after its prompt.
    """
    drafted: list[int] = draft.tokens.tolist()
    if not drafted or stopping.cut(text, drafted, emitted=emitted)[1] is None:
        return ()
    if draft.witness is not None:
        require_finite(draft.witness.tolist(), drafter_name, len(text))
    return tuple(drafted)


@torch.inference_mode()
def _blocks(
    subject: Subject, text: list[int], policy: Policy, generator: torch.Generator
) -> Iterator[BildBlock]:
    """Yields a text's blocks as they are decoded by a pair that was started on this text."""
    large, drafter, stopping = subject.target, subject.drafter, subject.stopping
    prefix = len(text)
    text = list(text)
    blocks: list[BildBlock] = []
    ending = None
    while ending is None:
        clock, written = Clock(drafter, large), len(text) - prefix
        gamma = min(policy.gamma(blocks), stopping.max_new_tokens - written)
        draft = drafter.propose(text, gamma, policy, generator)
        drafted = tokens = unread_ending(
            draft, text, drafter_name=drafter.name, stopping=stopping, emitted=written
        )
        accepted, read = len(drafted), not drafted
        if read:
            verified = verify_draft(
                large,
                draft,
                text,
                drafter_name=drafter.name,
                sampling=subject.sampling,
                rule=subject.rule,
                generator=generator,
            )
            drafted, accepted, tokens = verified.drafted, verified.accepted, verified.tokens
        emitted, ending = stopping.cut(text, tokens, emitted=written)
        text += emitted
        blocks.append(
            BildBlock(
                gamma,
                drafted,
                tuple(emitted),
                min(accepted, len(emitted)),
                *clock.seconds(),
                ending=ending,
                computed=len(draft.tokens if draft.witness is None else draft.witness),
                read=read,
            )
        )
        yield blocks[-1]


def bild_session(
    subject: Subject, prompt: Sequence[int], policy: Policy, generator: torch.Generator
) -> Session:
    """Returns a session of both models; the subject's rule is what the large model rolls back."""
    text, seconds = start(subject.target, subject.drafter, prompt, subject.stopping)
    return Session(text, seconds, _blocks(subject, text, policy, generator))
