"""Drafts with a head on the target's hidden states (EAGLE-3, multi-token prediction).

Before each draft the head reads the states that the target's last pass computed for the accepted
tokens. Within a draft it reads its own states, which leave its cache before the next draft.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from reference.drafter import Draft, draft_tokens, no_draft
from reference.drafters.trees import lineage
from reference.laws import Laws, Sampling
from reference.models.cached_model import CachedModel
from reference.models.model import Stopwatch, peaks, require_finite
from reference.models.text_tree import hidden_at
from reference.policies import Policy
from reference.scoring import ScoreOptions, Scores, Stretch, nothing_drafted, score_laws
from reference.state_heads.head import StateHead, causal_mask, unrolled


class StateHeadDrafter:
    """Drafts token by token with a head on the target's hidden states (`StateHead`).

    The head's distribution also depends on where the block began, because inside a block it reads
    its own states. It drafts nothing after a text of one token, because it predicts token i + 2
    from token i's state and the embedding of token i + 1.
    """

    def __init__(
        self, target: CachedModel, head: StateHead, sampling: Sampling, *, name: str
    ) -> None:
        target.tap(head.taps)  # from now on the target keeps the states that the head reads
        self.target = target
        self.head = head
        self.sampling = sampling
        self.name = name
        self.vocabulary = target.vocabulary
        self.most_nodes: int | None = None
        self._stopwatch = Stopwatch(target.device)
        self._begin(0)

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def _begin(self, text: int) -> None:
        self._cache = self.head.empty_cache()
        self._read = 0  # cached positions computed from the target's states
        self._own = 0  # cached positions after those, computed from the head's own states
        self._made: dict[int, Tensor] = {}  # the head's state after each draft token, -1: the text
        self._rows: dict[int, int] = {}  # the cache position of each draft token
        self._beginning = text

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self._begin(len(text))

    @torch.inference_mode()
    def read_prompt(self, text: Sequence[int]) -> None:
        """Reads the target's states of the prompt; the last one is left to the first block."""
        self._catch_up(text, len(text) - 2)

    def _catch_up(self, text: Sequence[int], end: int) -> Tensor | None:
        """Reads the target's new states before `end`; returns the head's newest state, or None."""
        self._drop(end - 1)
        states = self.target.tapped(self.head.taps, self._read, end) if end > 0 else None
        if states is None or len(states) == 0:
            return None
        after = torch.tensor([text[self._read + 1 : end + 1]], device=self.target.device)
        with self._stopwatch:
            entered = self.head.entry(states[None])
            positions = torch.arange(self._read, end, device=after.device)[None]
            mask = causal_mask(len(states), self._read, entered)
            made: Tensor = self.head(self.head.embed(after), entered, positions, mask, self._cache)
        self._read = end
        return made[:, -1:]

    def _drop(self, end: int) -> None:
        """Drops from the head's cache all positions from `end` on, and all drafted positions."""
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
            logits, last = begun[1], len(tokens) - 1
            if tokens:
                logits = self.deepen(text, torch.cat(tokens), range(-1, last), [last])
            return self.sampling.laws(logits, text, tokens)

        return draft_tokens(law_after, limit, policy, generator)

    def require_trees(self) -> None:
        """Refuses nothing: this drafter masks the head's attention itself, so any tree works."""

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
        lines = [lineage(place, parents) for place in places]
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
                None if bool(sees.all()) else hidden_at(~sees.to(tokens.device), states.dtype),
                self._cache,
            )
            logits = self.head.logits(made[0])
        self._own += len(places)
        self._made |= zip(places, made[0], strict=True)
        return logits

    @torch.inference_mode()
    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        """Returns scores per sampling setting, also for blocks that begin before the stretch."""
        first, length = len(stretch.text), len(stretch.text) + len(stretch.tokens)
        whole = [*stretch.text, *stretch.tokens]
        size = len(stretch.tokens), options.max_gamma
        scores = [
            replace(
                nothing_drafted(len(stretch.tokens), options),
                rank=torch.full(size, self.vocabulary),
                confidence=torch.zeros(*size, 3, dtype=torch.float64),
            )
            for _ in options.samplings
        ]
        # The first block that reaches into the stretch; none begins before the third token.
        begun = max(first - options.max_gamma + 1, self._beginning, 2)
        if begun >= length:
            return scores
        self._catch_up(whole, begun - 2)
        states = self.target.tapped(self.head.taps, begun - 2, length - 2)
        assert states is not None
        read = [*whole[begun - 1 :], *[0] * options.max_gamma]  # the padding is never used
        ids = torch.tensor([read], device=states.device)
        given = self.head, states[None], ids, self._cache
        for step, made in enumerate(unrolled(*given, first=begun - 2, steps=options.max_gamma)):
            self._own += len(states)
            low = max(first, begun + step)  # this step drafts the positions from here to the end
            if low < length:
                logits = self.head.logits(made[0, low - step - begun : length - step - begun])
                self._score_step(stretch, options, scores, logits, step)
        self._drop(begun - 2)
        return scores

    def _score_step(
        self,
        stretch: Stretch,
        options: ScoreOptions,
        scores: list[Scores],
        logits: Tensor,
        step: int,
    ) -> None:
        """Fills in the scores of a draft step from its logits at the stretch's last positions."""
        first = len(stretch.tokens) - len(logits)
        before = [*stretch.text, *stretch.tokens[:first]]
        require_finite(peaks(logits).tolist(), self.name, len(before))
        places = torch.arange(first, len(stretch.tokens), device=logits.device)
        here = Stretch(before, stretch.tokens[first:], stretch.p.at(places))
        after = torch.tensor(stretch.tokens[first:-1], dtype=torch.int64, device=logits.device)
        for sampling, score in zip(options.samplings, scores, strict=True):
            q = sampling.laws(logits, before, [after])
            of_step = score_laws(here, q, options.leniences)
            assert score.drafted is not None
            for column in ("ratio", "rank", "confidence"):
                getattr(score, column)[first:, step] = getattr(of_step, column)
            if step == 0:
                score.drafted[first:] = options.max_gamma
                score.beta[first:] = of_step.beta
                score.lenient_beta[first:] = of_step.lenient_beta
