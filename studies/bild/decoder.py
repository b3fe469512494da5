"""Big Little Decoder (Kim et al. 2023): rules for fallbacks and rollbacks, and Algorithm 1.

Speculative decoding has another loop, because here a text may end with a draft that the large model
never reads ("while y[-1] is not the end of text").
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from reference.drafter import Draft
from reference.laws import Dense, Laws, OneHot
from reference.models.model import require_finite
from reference.policies import Policy
from reference.records import Block, Generation, Stopping
from reference.speculative import Clock, Session, Subject, start
from reference.verify import verify_draft
from studies.bild import PAPERS_MOST, require_fallback, require_rollback

MEASURES = ("probability", "entropy")


@dataclass(frozen=True, slots=True)
class Fallback:
    """Drafts until the draft model's certainty of the next token falls below a threshold.

    The decision does not depend on the drawn token, so under the strict rule the output keeps the
    target's distribution. A drafter without distributions counts as certain.

    threshold: alpha_FB, at least 0; 0: the draft never stops for lack of certainty.
    most: longest draft, in tokens.
    measure: name of the certainty in [0, 1], from `MEASURES`.
    end_ids: ids after which a draft ends.
    """

    name: ClassVar[str] = "fallback"
    threshold: float
    most: int = PAPERS_MOST
    measure: str = "probability"
    end_ids: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        require_fallback(self.threshold, self.most)
        if self.measure not in MEASURES:
            raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {self.measure!r}")

    def gamma(self, blocks: Sequence[Block]) -> int:
        return self.most

    def certainty(self, q: Laws) -> float:
        """Returns how certain the draft model is at one position, in [0, 1].

        It is max q (the paper's), or e^(-H(q)) for the measure "entropy", with H in nats.
        If drafting is greedy, q is the distribution at temperature 1.
        """
        law = q.at_temperature_one() if isinstance(q, OneHot) else q
        if law is None:
            return 1.0
        p = law.probabilities
        by_entropy = self.measure == "entropy"
        return float(p.xlogy(p).sum(dim=-1).exp() if by_entropy else p.amax(dim=-1))

    def trusts(self, q: Laws) -> bool:
        return self.certainty(q) >= self.threshold

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        return int(token) not in self.end_ids


DISTANCES = ("cross-entropy", "kl", "total-variation", "disagreement")


def distances_between(distance: str, p: Tensor, q: Tensor, tokens: Tensor) -> Tensor:
    """Returns d(q, p), a distance between two distributions, at each position, shape (positions,).

    distance: one of
      cross-entropy: -ln p(x) of the drafted token x, the paper's choice (section 3.4);
      kl: KL(q || p) in nats;
      total-variation: sum over y of max(0, q(y) - p(y)), the probability of a rejection;
      disagreement: 1 where p and q have different likeliest tokens, else 0.
    p, q: target's and draft's distributions, shape (positions, vocabulary).
    tokens: ids of the drafted tokens, shape (positions,).
    """
    match distance:
        case "cross-entropy":
            return -p.gather(-1, tokens[:, None]).squeeze(-1).log()
        case "kl":
            return (q * torch.where(q > 0, q.log() - p.log(), 0.0)).sum(dim=-1)
        case "total-variation":
            # Exactly 0 for equal distributions, unlike 1 - sum of min(p, q), which rounds.
            return (q - p).clamp(min=0).sum(dim=-1)
    return (p.argmax(dim=-1) != q.argmax(dim=-1)).to(p.dtype)


@dataclass(frozen=True, slots=True)
class Rollback:
    """Accepts drafted tokens while d(q, p) <= threshold (Kim et al. 2023, Eq. 3), which is lossy.

    The first token with a larger distance is replaced by the target's token, and later ones are
    dropped. Distances are between the distributions from which tokens are drawn; in greedy
    decoding, between the distributions at temperature 1. A token that the target's sampling
    excludes (outside its nucleus) has infinite cross-entropy.

    threshold: alpha_RB, at least 0; infinite: never rolls back.
    distance: name of d, from `DISTANCES`; see `distances_between`.
    """

    lossless: ClassVar[bool] = False
    threshold: float
    distance: str = "cross-entropy"

    def __post_init__(self) -> None:
        require_rollback(self.threshold)
        if self.distance not in DISTANCES:
            raise ValueError(
                f"distance must be one of {', '.join(DISTANCES)}, got {self.distance!r}"
            )

    @property
    def name(self) -> str:
        return f"rollback {self.threshold:g}"

    def distances(self, p: Laws, q: Laws, tokens: Tensor) -> Tensor:
        """Returns the distance between the two models' distributions at each drafted position."""
        target = _soft(p)
        return distances_between(self.distance, target, _soft(q, target.shape[-1]), tokens)

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        return ~(self.distances(p, q, tokens) > self.threshold)

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        return p.at(place)


def _soft(law: Laws, vocabulary: int = 0) -> Tensor:
    """Returns the probabilities of a distribution; if greedy, those at temperature 1 if known."""
    hidden = law.at_temperature_one() if isinstance(law, OneHot) else None
    return (law if hidden is None else hidden).dense(vocabulary)


@dataclass(frozen=True, slots=True)
class BildBlock(Block):
    """One block of BiLD: a draft of the small model, then at most one call of the large model.

    computed: number of distributions that the small model computed: one per drafted token, and one
      more if it was not confident of the next token.
    read: whether the large model read the draft; it does not run after a draft that ends the text.
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
    """Returns a decoded text without the blocks that the large model did not read."""
    return replace(run, blocks=tuple(block for block in run.blocks if block.target_calls > 0))


def unread_ending(
    draft: Draft, text: Sequence[int], *, drafter_name: str, stopping: Stopping, emitted: int
) -> tuple[int, ...]:
    """Returns a draft's ids if they end the text, so that no large call is needed; else ().

    drafter_name: name that an error message states.
    emitted: number of ids that the text has after its prompt.
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
    """Yields the blocks that continue a text, one by one; both models have read the text."""
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
    """Reads a prompt and returns the session in which BiLD continues it, block by block.

    policy: ends drafts (fallback); the subject's rule rejects drafted tokens (rollback).
    """
    text, seconds = start(subject.target, subject.drafter, prompt, subject.stopping)
    return Session(text, seconds, _blocks(subject, text, policy, generator))
