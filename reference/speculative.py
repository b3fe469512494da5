"""Speculative decoding: the one loop that every drafter, policy and rule plugs into."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from reference.drafter import Drafter
from reference.laws.laws import Laws
from reference.laws.sampling import Sampling
from reference.models.model import Model, peaks, require_finite
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


def draft_and_verify(
    target: Model,
    drafter: Drafter,
    text: Sequence[int],
    gamma: int,
    *,
    sampling: Sampling,
    policy: Policy,
    rule: Rule,
    generator: torch.Generator,
) -> Verified:
    """Returns one run of Algorithm 1 of Leviathan et al. 2023 after text.

    The target's cache then holds the text and the accepted tokens.

    Args:
      target, drafter: started; the target's cache holds a proper beginning of text.
      text: the ids so far, prompt included.
      gamma: the most tokens to draft.
      sampling: makes the target's law of its logits; the drafter has its own.
      policy: asked after each drafted token whether to go on.
      rule: which drafted tokens stand.
      generator: on the target's device.

    Raises:
      FloatingPointError: if a model returns logits that are NaN or infinite.
    """
    draft = drafter.propose(text, gamma, policy, generator)
    unseen = torch.tensor(text[target.length :], device=target.device)
    logits = target.extend(torch.cat([unseen, draft.tokens]))[len(unseen) - 1 :]
    p = sampling.laws(logits, text, [draft.tokens])
    count, own = verify(p, draft, rule=rule, generator=generator)

    # The block's one wait for the device.
    q_finite = draft.tokens.new_ones(0) if draft.finite is None else draft.finite
    outcome = [draft.tokens, count, own, peaks(logits).isfinite(), q_finite]
    results = torch.cat(outcome).tolist()
    drafted, results = results[: len(draft.tokens)], results[len(draft.tokens) :]
    require_finite(results[2 + len(logits) :], drafter.name, len(text))
    require_finite(results[2 : 2 + len(logits)], target.name, len(text))
    accepted, token = results[:2]
    target.rollback(len(text) + accepted)
    return Verified(tuple(drafted), accepted, token, p)


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
    """Yields one block for each target call: Algorithm 1 of Leviathan et al. 2023, repeated.

    A block is yielded as soon as it is made, so to iterate is to stream. Batch size 1, as in the
    papers.

    Args:
      target, drafter: started on this text (`reference.generation.begin`).
      text: the ids to continue; not changed.
      sampling: makes the target's law of its logits; the drafter has its own.
      policy: how many tokens each block drafts.
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
        # A text's last token is the target's own: drafting it would be wasted.
        room = prefix + stopping.max_new_tokens - len(text) - 1
        gamma = min(policy.gamma(blocks), room)
        verified = draft_and_verify(
            target,
            drafter,
            text,
            gamma,
            sampling=sampling,
            policy=policy,
            rule=rule,
            generator=generator,
        )
        emitted, ending = stopping.cut(text, verified.tokens, emitted=len(text) - prefix)
        text += emitted
        draft_seconds = drafter.forward_seconds - drafting
        verify_seconds = target.forward_seconds - verifying
        block = Block(
            gamma=gamma,
            drafted=verified.drafted,
            tokens=tuple(emitted),
            accepted=min(verified.accepted, len(emitted)),
            draft_seconds=draft_seconds,
            verify_seconds=verify_seconds,
            other_seconds=time.perf_counter() - began - draft_seconds - verify_seconds,
            ending=ending,
        )
        blocks.append(block)
        yield block
