"""Drafters at next to no cost: copies from the text, an n-gram model, or both (Leviathan 3.6)."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ngram.indexes import LONGEST, MOST, Matches, Suffixes
from ngram.rows.rows import Rows
from reference.drafter import Draft, draft_from, draft_tokens
from reference.laws import Laws, OneHot, Sampling
from reference.models.model import Stopwatch
from reference.policies import Policy
from reference.scoring import ScoreOptions, Scores, Stretch, score_laws

Index = Matches | Suffixes


class CopyingDrafter:
    """Drafts the continuation that an index of the text (`Matches`, `Suffixes`) finds, or nothing.

    For an encoder-decoder model the index holds the prompt, followed by the decoder's text.
    """

    sampling = None

    def __init__(self, index: Callable[[], Index], *, name: str, device: torch.device) -> None:
        self.name = name
        self.device = device
        self._index = index
        self._stopwatch = Stopwatch(torch.device("cpu"))
        self._matches = index()
        self._before: list[int] = []
        self._recent: list[list[int]] = []  # for scoring: the drafts of blocks that began earlier

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self._matches = self._index()
        begins_with_prompt = list(text[: len(prompt)]) == list(prompt)
        self._before = [] if begins_with_prompt else list(prompt)
        self._recent = []

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        copied = self._continuation(text, limit)
        tokens = torch.tensor(copied, dtype=torch.int64, device=self.device)
        return draft_from(OneHot(tokens), len(copied), policy, generator)

    def _continuation(self, text: Sequence[int], limit: int) -> list[int]:
        with self._stopwatch:
            self._matches.update([*self._before, *text])
            return self._matches.continuation(limit)

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        tokens, max_gamma = stretch.tokens, options.max_gamma
        whole = [*stretch.text, *tokens]
        copies: list[list[int]] = []
        # q is one-hot: its ratio to p is 0 at other tokens and at least 1 at the text's own.
        ratio = torch.zeros(len(tokens), max_gamma, dtype=torch.float64)
        for place, token in enumerate(tokens):
            copies.append(self._continuation(whole[: len(stretch.text) + place], max_gamma))
            self._recent = [copies[-1], *self._recent[: max_gamma - 1]]
            for offset, copied in enumerate(self._recent):
                ratio[place, offset] = float(copied[offset : offset + 1] == [token])
        first = torch.tensor([copy[0] if copy else 0 for copy in copies], device=stretch.p.device)
        drafted = torch.tensor([len(copy) for copy in copies])
        begun = score_laws(stretch, OneHot(first), options.leniences)
        copying = drafted > 0
        lenient = begun.lenient_beta * copying[:, None]
        scores = Scores(begun.beta * copying, ratio, drafted, lenient)
        return [scores for _ in options.samplings]


class PromptLookupDrafter(CopyingDrafter):
    """Copies the tokens after the longest earlier match of the text's last tokens (`Matches`)."""

    def __init__(
        self,
        *,
        device: torch.device,
        longest: int = LONGEST,
        shortest: int = 1,
        earliest: bool = False,
    ) -> None:
        if not 1 <= shortest <= longest <= MOST:
            raise ValueError(
                f"a lookup must match 1 to {MOST} tokens, the least first, got {shortest} to "
                f"{longest}"
            )
        name = "lookup" if longest == LONGEST else f"lookup:{longest}"
        if earliest:
            name = f"lookup:vllm:{shortest}-{longest}"
        index = partial(Matches, longest, shortest, earliest=earliest)
        super().__init__(index, name=name, device=device)


class NgramDrafter:
    """Drafts from an n-gram model's distributions over the target's vocabulary.

    The text of an encoder-decoder model begins with special tokens, such as T5's padding token. The
    n-gram model ignores them: `<s>` precedes the first token after them.
    """

    def __init__(self, rows: Rows, sampling: Sampling, *, device: torch.device, name: str) -> None:
        self.rows = rows
        self.sampling = sampling
        self.device = device
        self.name = name
        self._stopwatch = Stopwatch(torch.device("cpu"))
        self._no_words = 0

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        begins_with_prompt = list(text[: len(prompt)]) == list(prompt)
        self._no_words = 0 if begins_with_prompt else len(text)

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        recent = self._last_words(text)

        def law_after(tokens: list[Tensor]) -> Laws:
            recent.extend(int(token) for token in tokens[-1:])
            return self.sampling.laws(self._logits([recent]), text, tokens)

        return draft_tokens(law_after, limit, policy, generator)

    def _last_words(self, text: Sequence[int]) -> list[int]:
        return list(text[max(self._no_words, len(text) - self.rows.model.order) :])

    def _logits(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """Returns log-probabilities of the token after each text, shape (texts, rows.width)."""
        with self._stopwatch:
            rows = [self.rows.log_row(self.rows.context(text)) for text in texts]
            # A single row needs no copy.
            logits = rows[0][None] if len(rows) == 1 else np.stack(rows)
        return torch.from_numpy(logits).to(self.device)

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        recent = self._last_words(stretch.text)
        whole = [*recent, *stretch.tokens]
        logits = self._logits([whole[:end] for end in range(len(recent), len(whole))])
        before = torch.tensor(stretch.tokens[:-1], dtype=torch.int64, device=self.device)
        return [
            score_laws(stretch, sampling.laws(logits, stretch.text, [before]), options.leniences)
            for sampling in options.samplings
        ]


class LookupThenNgram:
    """Drafts each block by lookup if the lookup finds a match, else with the n-gram model."""

    def __init__(self, lookup: PromptLookupDrafter, ngram: NgramDrafter) -> None:
        self.lookup = lookup
        self.ngram = ngram
        self.name = f"{lookup.name}+{ngram.name}"
        self.sampling = ngram.sampling
        self._copied = torch.zeros(0, dtype=torch.bool)  # for scoring: where the lookup drafted

    @property
    def forward_seconds(self) -> float:
        return self.lookup.forward_seconds + self.ngram.forward_seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self.lookup.start(prompt, text)
        self.ngram.start(prompt, text)
        self._copied = self._copied[:0]

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        draft = self.lookup.propose(text, limit, policy, generator)
        return draft if len(draft.tokens) else self.ngram.propose(text, limit, policy, generator)

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        copy, *_ = self.lookup.score(stretch, options)
        assert copy.drafted is not None
        copying, max_gamma = copy.drafted > 0, options.max_gamma
        self._copied = torch.cat([self._copied, copying])
        # By position: whether blocks that began 0, 1, ... positions earlier were copied.
        begun = torch.nn.functional.pad(self._copied, (max_gamma - 1, 0)).unfold(0, max_gamma, 1)
        begun = begun[-len(copying) :].flip(1)
        drafted = torch.where(copying, copy.drafted, max_gamma)
        return [
            Scores(
                beta=torch.where(copying, copy.beta, model.beta),
                ratio=torch.where(begun, copy.ratio, model.ratio[:, None]),
                drafted=drafted,
                lenient_beta=torch.where(copying[:, None], copy.lenient_beta, model.lenient_beta),
            )
            for model in self.ngram.score(stretch, options)
        ]
