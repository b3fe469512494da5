"""The counts of a part of a log, as the processes that share it make them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from estimator.drafters.kind import Needs
from estimator.drafters.registry import parse_drafter
from estimator.logs.encoding import Pair, encoded
from estimator.logs.parts import Part
from estimator.settings import ModelSettings
from estimator.texts.request import MeasureTexts
from estimator.texts.totals import Totals, nothing, totals
from ngram.copies.texts import Copied, Texts


class BadLineError(ValueError):
    """A line that ends a measurement."""


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts what a request asks of any part of its log.

    request: what is asked.
    tokenizer: of the texts; None: the log has ids.
    copies: from texts to what would be drafted along them.
    """

    request: MeasureTexts
    tokenizer: Any
    copies: Any

    @classmethod
    def of(cls, request: MeasureTexts) -> Counter:
        """Returns the counter of a request.

        Raises:
          ValueError: if texts do not tell what its draft would be, or the tokenizer is missing.
        """
        kind = parse_drafter(request.draft)
        name, tokenizer = request.tokenizer, None
        if name is not None:
            from estimator.loading.corpora import load_named_tokenizer

            tokenizer = load_named_tokenizer(name)
            settings = ModelSettings(force=request.force)
            kind.require(Needs(target=str(name), tokenizer=tokenizer, settings=settings))
        for file in kind.own_files:
            if file.exists() and file.samefile(request.texts):
                raise ValueError(
                    f"draft {kind} must not be read from the texts that it drafts for, got {file}"
                )
        copies = kind.copies(tokenizer)
        if copies is None:
            raise ValueError(
                "draft must be one that texts alone tell with texts (lookup, suffix, ngram), "
                f"got {request.draft}"
            )
        return cls(request, tokenizer, copies)

    def count(self, part: Part) -> Totals:
        """Returns the counts of a part.

        Raises:
          BadLineError: at the first line that cannot be used, unless such lines are left out.
        """
        texts, bad = encoded(part, self.tokenizer)
        told = [f"{self.request.texts} line {each.number}: {each.reason}" for each in bad]
        if told and not self.request.skip_bad_lines:
            raise BadLineError(told[0])
        found = self._counts(texts)
        if not told:
            return found
        return msgspec.structs.replace(found, skipped=len(told), first_skipped=told[0])

    def _counts(self, pairs: list[Pair]) -> Totals:
        longest = self.request.max_gamma
        if not pairs:
            return nothing(longest)
        texts = Texts.of(pairs)
        copied: Copied = self.copies(texts, longest)
        return totals(texts, copied, longest)
