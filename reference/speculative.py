"""Speculative decoding: the one loop that every drafter, policy and rule plugs into."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from reference.branches import walk
from reference.drafter import Draft, Drafter
from reference.laws.laws import Laws
from reference.laws.sampling import Sampling
from reference.models.model import Model, require_finite
from reference.policies.policy import Policy
from reference.records import Block
from reference.rules.acceptance import Rule, Strict
from reference.stopping import Stopping
from reference.verifier import verify

STRICT = Strict()


@dataclass(frozen=True, slots=True)
class Verified:
    """What one target call makes of a draft.

    drafted: the proposed ids.
    accepted: how many of them stand.
    own: the id after those, the target's.
    p: the target's laws at the drafted positions and the one after.
    """

    drafted: tuple[int, ...]
    accepted: int
    own: int
    p: Laws

    @property
    def tokens(self) -> tuple[int, ...]:
        """The ids that go on from the text: accepted ones, then the target's own."""
        return (*self.drafted[: self.accepted], self.own)


def verify_draft(
    target: Model,
    draft: Draft,
    text: Sequence[int],
    *,
    drafter_name: str,
    sampling: Sampling,
    rule: Rule,
    generator: torch.Generator,
) -> Verified:
    """Returns what one target call makes of a draft: Leviathan et al. 2023, Algorithm 1.

    The target's cache then holds the text and the accepted tokens.

    Args:
      target: started; its cache holds a proper beginning of text.
      draft: proposed after text.
      text: the ids so far, prompt included.
      drafter_name: whose logits the draft's are, for messages.
      sampling: makes the target's law of its logits; the drafter has its own.
      rule: which drafted tokens stand.
      generator: on the target's device.

    Raises:
      ValueError: if the draft branches and the rule is not the strict one.
      FloatingPointError: if a model returned logits that are NaN or infinite.
    """
    unseen = torch.tensor(text[target.length :], device=target.device)
    if draft.parents is not None:
        if not isinstance(rule, Strict):
            raise ValueError(f"a draft that branches needs the strict rule, got {rule.name}")
        walked = walk(target, draft, text, unseen, sampling=sampling, generator=generator)
        return Verified(walked.drafted, len(walked.accepted), walked.own, walked.p)
    logits = target.extend(torch.cat([unseen, draft.tokens]))[len(unseen) - 1 :]
    p = sampling.laws(logits, text, [draft.tokens])
    count, own = verify(p, draft, rule=rule, generator=generator)

    # The block's one wait for the device.
    q_finite = draft.tokens.new_ones(0) if draft.finite is None else draft.finite
    outcome = [draft.tokens, count, own, p.finite, q_finite]
    results = torch.cat(outcome).tolist()
    drafted, results = results[: len(draft.tokens)], results[len(draft.tokens) :]
    require_finite(results[2 + len(logits) :], drafter_name, len(text))
    require_finite(results[2 : 2 + len(logits)], target.name, len(text))
    accepted, token = results[:2]
    target.rollback(len(text) + accepted)
    return Verified(tuple(drafted), accepted, token, p)


def unread_ending(
    draft: Draft, text: Sequence[int], *, drafter_name: str, stopping: Stopping, emitted: int
) -> tuple[int, ...]:
    """Returns the ids of a draft that ends the text by itself; none if the text goes on.

    Args:
      draft, text, drafter_name: as for `verify_draft`.
      stopping: when the text ends.
      emitted: how many ids of text were not given.

    Raises:
      FloatingPointError: if the drafter returned logits that are NaN or infinite.
    """
    if len(draft.tokens) == 0:
        return ()
    drafted: list[int] = draft.tokens.tolist()
    _, ending = stopping.cut(text, drafted, emitted=emitted)
    if ending is None:
        return ()
    if draft.finite is not None:
        require_finite(draft.finite.tolist(), drafter_name, len(text))
    return tuple(drafted)


@torch.inference_mode()
def speculative_blocks(
    target: Model,
    drafter: Drafter,
    text: list[int],
    *,
    sampling: Sampling,
    policy: Policy,
    stopping: Stopping,
    generator: torch.Generator,
    rule: Rule = STRICT,
) -> Iterator[Block]:
    """Yields a text's blocks, a target call each: Algorithm 1 of Leviathan et al. 2023, repeated.

    With a fallback policy and a rollback rule it is Algorithm 1 of Kim et al. 2023 (BiLD), where a
    text may end with a draft that the target did not read. A block is yielded as soon as it is
    made, so to iterate is to stream. Batch size 1, as in the papers.

    Args:
      target, drafter: started on this text (`reference.generation.begin`).
      text: the ids to continue; not changed.
      sampling: makes the target's law of its logits; the drafter has its own.
      policy: how many tokens each block drafts, and from which laws.
      stopping: when the text ends.
      generator: on the target's device.
      rule: which drafted tokens stand.

    Raises:
      FloatingPointError: if a model returns logits that are NaN or infinite.
    """
    prefix = len(text)
    text = list(text)
    blocks: list[Block] = []
    ending = None
    while ending is None:
        began = time.perf_counter()
        drafting, verifying = drafter.forward_seconds, target.forward_seconds
        # Where the target reads the last block, its own token ends it: drafting it is wasted.
        room = prefix + stopping.max_new_tokens - len(text) - rule.reads_endings
        gamma = min(policy.gamma(blocks), room)
        draft = drafter.propose(text, gamma, policy, generator)
        unread = () if rule.reads_endings else unread_ending(
            draft,
            text,
            drafter_name=drafter.name,
            stopping=stopping,
            emitted=len(text) - prefix,
        )
        if unread:
            drafted, accepted, tokens = unread, len(unread), unread
        else:
            verified = verify_draft(
                target,
                draft,
                text,
                drafter_name=drafter.name,
                sampling=sampling,
                rule=rule,
                generator=generator,
            )
            drafted, accepted, tokens = verified.drafted, verified.accepted, verified.tokens
        emitted, ending = stopping.cut(text, tokens, emitted=len(text) - prefix)
        text += emitted
        draft_seconds = drafter.forward_seconds - drafting
        verify_seconds = target.forward_seconds - verifying
        block = Block(
            gamma=gamma,
            drafted=drafted,
            tokens=tuple(emitted),
            accepted=min(accepted, len(emitted)),
            draft_seconds=draft_seconds,
            verify_seconds=verify_seconds,
            other_seconds=time.perf_counter() - began - draft_seconds - verify_seconds,
            ending=ending,
            refused=draft.refused,
            read=not unread,
        )
        blocks.append(block)
        yield block
