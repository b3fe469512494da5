"""The counts of a part of a log, as the processes that share it make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from estimator.drafters.kind import Needs
from estimator.drafters.registry import parse_drafter
from estimator.settings import ModelSettings
from estimator.texts.log import Bad, Line, Part, read
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
        good: list[tuple[int, Line]] = []
        bad: list[Bad] = []
        for number, line in read(part):
            if isinstance(line, Bad):
                bad.append(line)
            else:
                good.append((number, line))
        pairs = self._encoded([line for _, line in good])
        texts: list[tuple[Sequence[int], Sequence[int]]] = []
        for (number, _), pair in zip(good, pairs, strict=True):
            reason = self._refusal(pair)
            if reason is None:
                texts.append(pair)
            else:
                bad.append(Bad(number, reason))
        bad.sort(key=lambda each: each.number)
        told = [f"{self.request.texts} line {each.number}: {each.reason}" for each in bad]
        if told and not self.request.skip_bad_lines:
            raise BadLineError(told[0])
        found = self._counts(texts)
        if not told:
            return found
        return msgspec.structs.replace(found, skipped=len(told), first_skipped=told[0])

    def _counts(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Totals:
        longest = self.request.max_gamma
        if not pairs:
            return nothing(longest)
        texts = Texts.of(pairs)
        copied: Copied = self.copies(texts, longest)
        return totals(texts, copied, longest)

    def _encoded(self, lines: Sequence[Line]) -> list[tuple[Any, Any]]:
        """Returns the ids of prompts and outputs; None of text that nothing encodes."""
        prompts: list[Any] = [line.prompt for line in lines]
        outputs: list[Any] = [line.output for line in lines]
        for values, special in ((prompts, True), (outputs, False)):
            rows = [row for row, value in enumerate(values) if isinstance(value, str)]
            if rows and self.tokenizer is not None:
                encoded = self.tokenizer(
                    [values[row] for row in rows], add_special_tokens=special, verbose=False
                )["input_ids"]
                for row, ids in zip(rows, encoded, strict=True):
                    values[row] = ids
        return list(zip(prompts, outputs, strict=True))

    def _refusal(self, pair: tuple[Any, Any]) -> str | None:
        for name, ids in zip(("prompt", "output"), pair, strict=True):
            if isinstance(ids, str):
                return f"{name} is text, which needs --tokenizer"
            if not ids:
                if name == "output":
                    return "output must not be empty, got no token"
                continue
            low, high = min(ids), max(ids)
            if low < 0:
                return f"{name} must be ids of at least 0, got {low}"
            if self.tokenizer is not None and high >= len(self.tokenizer):
                return (
                    f"{name} must be ids of the tokenizer {self.request.tokenizer}, below "
                    f"{len(self.tokenizer)}, got {high}"
                )
            if high >= 1 << 31:
                return f"{name} must be ids of a tokenizer, got {high}"
        return None
