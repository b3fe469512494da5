"""Drafters that copy: an index of the text finds what followed its last tokens earlier."""

from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import Protocol

import torch

from ngram.drafters.suffixes import LONGEST, MOST
from reference.drafter import Draft, draft_from
from reference.laws import OneHot
from reference.models.model import Stopwatch
from reference.policies import Policy
from reference.scoring import ScoreOptions, Scores, Stretch, score_laws


class Matches:
    """An index of a text that finds the places after given words.

    An update takes time in proportion to the number of added or removed words.

    longest: most words of a match, at least 1.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self._text: list[int] = []
        # For each sequence of words: the places of the words that followed it, ascending.
        self._followers: dict[tuple[int, ...], list[int]] = {}

    def update(self, text: Sequence[int]) -> None:
        """Replaces the indexed text by one that differs from it only at the end."""
        common = max(min(len(self._text), len(text) - 1), 0)
        while len(self._text) > common:
            for words in self._before(len(self._text) - 1):
                self._followers[words].pop()
            self._text.pop()
        for word in text[common:]:
            self._text.append(word)
            for words in self._before(len(self._text) - 1):
                self._followers.setdefault(words, []).append(len(self._text) - 1)

    def _before(self, place: int) -> list[tuple[int, ...]]:
        """Returns the last 1, 2, … words before a place."""
        return [
            tuple(self._text[place - length : place])
            for length in range(1, min(self.longest, place) + 1)
        ]

    def found(self, shortest: int = 1) -> list[int]:
        """Returns the places after the longest matches of the text's end, ascending."""
        for words in reversed(self._before(len(self._text))):
            if len(words) >= shortest and (places := self._followers.get(words)):
                return places
        return []


class LatestMatches(Matches):
    """Copies the words after the longest match of the text's end; of several, the latest."""

    def continuation(self, limit: int) -> list[int]:
        """Returns `limit` words; an empty list if the text's last word has not occurred before.

        A copy that reaches the text's end begins again: `a b a b` continues with `a b a b`...
        """
        places = self.found()
        copied = self._text[places[-1] : places[-1] + limit] if places else []
        return list(islice(cycle(copied), limit))


class EarliestMatches(Matches):
    """Copies the words after the longest match; of several, the earliest. Ends at the text's end.

    This is vLLM's rule (`vllm/v1/spec_decode/ngram_proposer.py`, 2025 and 2026). With a shortest
    match of 1 it is also the rule of transformers' `PromptLookupCandidateGenerator`.
    """

    def __init__(self, longest: int, shortest: int) -> None:
        super().__init__(longest)
        self.shortest = shortest

    def continuation(self, limit: int) -> list[int]:
        places = self.found(self.shortest)
        return self._text[places[0] : places[0] + limit] if places else []


class Index(Protocol):
    """Finds possible continuations of a text that grows.

    Example: an index that expects the last token again.

      >>> class Repeat(Index):
      ...     def update(self, text):
      ...         self.last = text[-1:]
      ...     def continuation(self, limit):
      ...         return list(self.last) * limit
      >>> index = Repeat()
      >>> index.update([5, 7])
      >>> index.continuation(3)
      [7, 7, 7]
    """

    def update(self, text: Sequence[int]) -> None:
        """Replaces the indexed text by another; only the parts that differ cost time."""

    def continuation(self, limit: int) -> list[int]:
        """Returns at most `limit` tokens; an empty list if nothing is found."""


class CopyingDrafter:
    """Drafts the continuation that an index finds, or nothing.

    The prompt of an encoder-decoder model is indexed as if it preceded the text.
    """

    sampling = None

    def __init__(self, index: Callable[[], Index], *, name: str, device: torch.device) -> None:
        """Makes the drafter; `index` returns an index of an empty text."""
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
    """Copies the tokens after the longest match of the text's end; of several, the latest."""

    def __init__(self, *, device: torch.device, longest: int = LONGEST) -> None:
        if not 1 <= longest <= MOST:
            raise ValueError(f"a lookup must match 1 to {MOST} tokens, got {longest}")
        name = "lookup" if longest == LONGEST else f"lookup:{longest}"
        super().__init__(lambda: LatestMatches(longest), name=name, device=device)


class EarliestLookupDrafter(CopyingDrafter):
    """Copies the tokens after the longest match; of several, the earliest, as vLLM does."""

    def __init__(self, *, device: torch.device, shortest: int, longest: int) -> None:
        if not 1 <= shortest <= longest <= MOST:
            raise ValueError(
                f"a lookup must match 1 to {MOST} tokens, the least first, got {shortest} to "
                f"{longest}"
            )
        name = f"lookup:vllm:{shortest}-{longest}"
        super().__init__(lambda: EarliestMatches(longest, shortest), name=name, device=device)
