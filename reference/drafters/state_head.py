"""Drafting with a head on the target's states, token after token (EAGLE-3, multi-token prediction).

Before each draft the head reads what the target's last pass left of the tokens that stand; from
there on it reads its own states. What it cached of its own is dropped with the next draft.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from reference.draft_loop import draft_tokens
from reference.drafter import Draft, no_draft
from reference.drafters.branching import line
from reference.laws.laws import Laws
from reference.laws.sampling import Sampling
from reference.laws.scoring import Asked, Scores, Stretch, nothing_drafted, score_laws
from reference.models.cached_model import CachedModel
from reference.models.model import peaks, require_finite
from reference.models.stopwatch import Stopwatch
from reference.policies.policy import Policy
from reference.state_heads.head import StateHead, causal_mask, hidden_at, unrolled


class StateHeadDrafter:
    """Drafts with a head over the target's vocabulary; its law depends on where its block began.

    A position is counted by the token whose state is read there; the head reads the token after it,
    and tells the one after that. So a text of one token has nothing to draft from.
    """

    def __init__(
        self, target: CachedModel, head: StateHead, sampling: Sampling, *, name: str
    ) -> None:
        """Binds a head to the model that verifies its drafts.

        Args:
          target: its states at the head's taps are kept from now on.

        Raises:
          ValueError: if the target has no such states.
        """
        target.tap(head.taps)
        self.target = target
        self.head = head
        self.sampling = sampling
        self.name = name
        self._stopwatch = Stopwatch(target.device)
        self._begin(0)

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def _begin(self, text: int) -> None:
        self._cache = self.head.empty_cache()
        self._read = 0  # positions in the cache that are of the target's states
        self._own = 0  # those after them, of the head's own
        self._made: dict[int, Tensor] = {}  # its states after a draft's tokens, -1 the text
        self._rows: dict[int, int] = {}  # where in the cache they are
        self._beginning = text

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self._begin(len(text))

    @torch.inference_mode()
    def read_prompt(self, text: Sequence[int]) -> None:
        """Reads the states of all but what the first block begins with, which is that block's."""
        self._catch_up(text, len(text) - 2)

    def _catch_up(self, text: Sequence[int], end: int) -> Tensor | None:
        """Reads the target's states up to a position; returns the head's state before it, if any.

        Shape (1, 1, width).
        """
        self._drop(end - 1)
        states = self.target.tapped(self.head.taps, self._read, end) if end > 0 else None
        if states is None or len(states) == 0:
            return None
        after = torch.tensor([text[self._read + 1 : end + 1]], device=self.target.device)
        with self._stopwatch:
            entered = self.head.entry(states[None])
            positions = torch.arange(self._read, end, device=after.device)[None]
            mask = causal_mask(len(states), self._read, entered)
            embedded = self.head.embed(after)
            made: Tensor = self.head(embedded, entered, positions, mask, self._cache)
        self._read = end
        return made[:, -1:]

    def _drop(self, end: int) -> None:
        """Drops from the cache what is of the head's own states, or at `end` or beyond."""
        kept = min(self._read, max(end, 0))
        drop = self._read + self._own - kept
        if drop > 0:
            self._cache.crop(-drop)
        self._read, self._own = kept, 0

    @torch.inference_mode()
    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        begun = self.begin_tree(text, limit)
        if begun is None:
            return no_draft(self.target.device)

        def law_after(tokens: list[Tensor]) -> Laws:
            last = len(tokens) - 1
            logits = (
                self.deepen(text, torch.cat(tokens), range(-1, last), [last])
                if tokens
                else begun[1]
            )
            return self.sampling.laws(logits, text, tokens)

        return draft_tokens(law_after, limit, policy, generator)

    @property
    def vocabulary(self) -> int:
        return self.target.vocabulary

    @property
    def most_nodes(self) -> None:
        return None

    def require_trees(self) -> None:
        """Refuses nothing: the mask of its own layers is made here."""

    @torch.inference_mode()
    def begin_tree(self, text: Sequence[int], depth: int) -> tuple[int, Tensor] | None:
        state = self._catch_up(text, len(text) - 1) if depth > 0 else None
        if state is None:
            return None
        self._made = {-1: state[0, 0]}
        self._rows = {}
        with self._stopwatch:
            return depth, self.head.logits(state[0])

    @torch.inference_mode()
    def deepen(
        self, text: Sequence[int], tokens: Tensor, parents: Sequence[int], places: Sequence[int]
    ) -> Tensor:
        lines = [line(place, parents) for place in places]
        before = self._read + self._own
        sees = torch.zeros(len(places), before + len(places), dtype=torch.bool)
        sees[:, : self._read] = True
        for row, above in enumerate(lines):
            self._rows[above[0]] = before + row
            sees[row, [self._rows[place] for place in above]] = True
        depths = [self._read + len(above) - 1 for above in lines]
        with self._stopwatch:
            states = torch.stack([self._made[parents[place]] for place in places])[None]
            made: Tensor = self.head(
                self.head.embed(tokens[list(places)][None]),
                states,
                torch.tensor([depths], device=tokens.device),
                None if bool(sees.all()) else hidden_at(~sees.to(tokens.device), states),
                self._cache,
            )
            logits = self.head.logits(made[0])
        self._own += len(places)
        self._made |= zip(places, made[0], strict=True)
        return logits

    @torch.inference_mode()
    def score(self, stretch: Stretch, asked: Asked) -> list[Scores]:
        """Returns the scores of the blocks that reach into the stretch, by setting.

        The target's cache must hold all of the text but the stretch's last token, as it does once
        `stretch.p` has been computed.
        """
        first, length = len(stretch.text), len(stretch.text) + len(stretch.tokens)
        whole = [*stretch.text, *stretch.tokens]
        scores = [self._unreached(len(stretch.tokens), asked) for _ in asked.samplings]
        # Of the first block that reaches into the stretch; there is none before the third token.
        begun = max(first - asked.max_gamma + 1, self._beginning, 2)
        if begun >= length:
            return scores
        self._catch_up(whole, begun - 2)
        states = self.target.tapped(self.head.taps, begun - 2, length - 2)
        assert states is not None
        read = [*whole[begun - 1 :], *[0] * asked.max_gamma]  # what lies beyond is not looked at
        steps = unrolled(
            self.head,
            states[None],
            torch.tensor([read], device=states.device),
            self._cache,
            first=begun - 2,
            steps=asked.max_gamma,
        )
        for step, made in enumerate(steps):
            self._own += len(states)
            low = max(first, begun + step)  # what the step drafts lies from here to the end
            if low < length:
                logits = self.head.logits(made[0, low - step - begun : length - step - begun])
                self._score_step(stretch, asked, scores, logits, step)
        self._drop(begun - 2)
        return scores

    def _unreached(self, positions: int, asked: Asked) -> Scores:
        """Returns the scores of positions that no block reaches, where no token is a choice."""
        rank = torch.full((positions, asked.max_gamma), self.vocabulary)
        sure = torch.zeros(positions, asked.max_gamma, 3, dtype=torch.float64)
        return replace(nothing_drafted(positions, asked), rank=rank, confidence=sure)

    def _score_step(
        self, stretch: Stretch, asked: Asked, scores: list[Scores], logits: Tensor, step: int
    ) -> None:
        """Enters what a step of each block drafted, the last of them the stretch's last token."""
        first = len(stretch.tokens) - len(logits)
        before = [*stretch.text, *stretch.tokens[:first]]
        require_finite(peaks(logits).tolist(), self.name, len(before))
        places = torch.arange(first, len(stretch.tokens), device=logits.device)
        here = Stretch(before, stretch.tokens[first:], stretch.p.at(places))
        after = torch.tensor(stretch.tokens[first:-1], dtype=torch.int64, device=logits.device)
        for sampling, found in zip(asked.samplings, scores, strict=True):
            q = sampling.laws(logits, before, [after])
            of_step = score_laws(here, q, asked.leniences)
            found.ratio[first:, step] = of_step.ratio
            for entries, of_entries in (
                (found.rank, of_step.rank),
                (found.confidence, of_step.confidence),
            ):
                assert entries is not None
                assert of_entries is not None
                entries[first:, step] = of_entries
            if step == 0:
                assert found.drafted is not None
                found.drafted[first:] = asked.max_gamma
                found.beta[first:] = of_step.beta
                found.lenient_beta[first:] = of_step.lenient_beta
