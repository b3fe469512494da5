"""Counts copying drafts along recorded texts, in the processes that share a log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from estimator.draft_names.kind import parse_drafter
from estimator.prompts.logs import LogPart, Pair, encoded
from estimator.settings import MAX_GAMMA, ModelSettings
from ngram.copies.texts import Copied, Integers, Texts

# An interval over this many groups of texts is as good as one over the texts.
MOST_GROUPS = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureTexts:
    """Settings: acceptance of a copying draft along recorded texts.

    texts: the log: JSON lines or Parquet, with a prompt and an output each, text or ids.
    drafts: one drafter whose drafts depend only on texts.
    tokenizer: tokenizer of the model that wrote the texts: embedded, a Hugging Face name or a
      folder; None: the log has ids, which are not checked.
    force: accept an n-gram model whose tokenizer may differ from that one.
    max_gamma: longest draft.
    skip_bad_lines: whether bad lines are skipped; else the first one ends the measurement.
    processes: number of processes that share the log; None: one per core.
    output: file for the profile; None: no file, and an interrupted run saves nothing.
    """

    texts: Path
    drafts: tuple[str, ...] = ()
    tokenizer: str | None = None
    force: bool = False
    max_gamma: int = MAX_GAMMA
    skip_bad_lines: bool = False
    processes: int | None = None
    output: Path | None = None

    def __post_init__(self) -> None:
        if len(self.drafts) != 1:
            raise ValueError(f"draft must be given once with texts, got {len(self.drafts)}")

    @property
    def draft(self) -> str:
        return self.drafts[0]


class Totals(msgspec.Struct, frozen=True):
    """Counts over some texts.

    hits: per group of neighbouring texts, number of tokens that a draft beginning there predicts.
    tokens: per group, number of all tokens; a group is one text until there are too many texts.
    blocks: for γ = 1, 2, …, the number of blocks with 0, …, γ drafted tokens.
    skipped: number of skipped lines.
    first_skipped: the first skipped line with its reason; "" if there is none.
    """

    texts: int
    hits: list[int]
    tokens: list[int]
    blocks: list[list[int]]
    skipped: int = 0
    first_skipped: str = ""

    def __add__(self, other: Totals) -> Totals:
        hits, tokens = [*self.hits, *other.hits], [*self.tokens, *other.tokens]
        while len(tokens) > MOST_GROUPS:
            hits, tokens = _in_pairs(hits), _in_pairs(tokens)
        return Totals(
            self.texts + other.texts,
            hits,
            tokens,
            [
                [one + two for one, two in zip(ours, theirs, strict=True)]
                for ours, theirs in zip(self.blocks, other.blocks, strict=True)
            ],
            self.skipped + other.skipped,
            self.first_skipped or other.first_skipped,
        )


def nothing(max_gamma: int) -> Totals:
    return Totals(0, [], [], [[0] * (gamma + 1) for gamma in range(1, max_gamma + 1)])


def totals(texts: Texts, copied: Copied, max_gamma: int) -> Totals:
    """Returns the counts of drafts along texts, each decoded with every γ.

    A draft has the drafter's length, at most γ, and leaves room for the target's own token
    (`simulator.acceptance.replay` with probabilities 0 and 1).

    texts: at least one.
    copied: drafts along the outputs, at most max_gamma tokens each.
    """
    lengths = texts.lengths
    ends = np.cumsum(lengths)
    room = np.repeat(ends, lengths) - np.arange(int(ends[-1])) - 1
    drafts, accepted = copied
    hits = np.add.reduceat((accepted > 0).astype(np.int64), ends - lengths)
    gammas = np.arange(1, max_gamma + 1, dtype=np.int32)
    drafted = np.minimum(np.minimum(drafts, room).astype(np.int32), gammas[:, None])
    begun = _begun(np.minimum(accepted.astype(np.int32), drafted) + 1, ends - lengths, ends)
    blocks = [
        np.bincount(lengths[places], minlength=gamma + 1).tolist()
        for gamma, lengths, places in zip(gammas.tolist(), drafted, begun, strict=True)
    ]
    return Totals(len(lengths), hits.tolist(), lengths.tolist(), blocks)


def _begun(steps: NDArray[np.int32], first: Integers, ends: Integers) -> NDArray[np.bool_]:
    """Returns the positions where blocks begin, as a mask of shape (rows, tokens).

    steps: distance from a block's beginning to the next one, shape (rows, tokens).
    first, ends: first position and end of each text.
    """
    begun = np.zeros(steps.size, dtype=np.bool_)
    of_row = np.arange(len(steps))[:, None] * steps.shape[1]
    step = steps.ravel()
    places, until = (of_row + first).ravel(), (of_row + ends).ravel()
    while len(places):
        begun[places] = True
        places = places + step[places]
        going = places < until
        places, until = places[going], until[going]
    return begun.reshape(steps.shape)


def _in_pairs(values: list[int]) -> list[int]:
    return [sum(values[place : place + 2]) for place in range(0, len(values), 2)]


class BadLineError(ValueError):
    """A bad line that ends a measurement."""


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts the parts of a request's log; tokenizer None: the log has ids."""

    request: MeasureTexts
    tokenizer: Any
    copies: Any

    @classmethod
    def of(cls, request: MeasureTexts) -> Counter:
        kind = parse_drafter(request.draft)
        name, tokenizer = request.tokenizer, None
        if name is not None:
            from estimator.loading.folders import load_named_tokenizer

            tokenizer = load_named_tokenizer(name)
            settings = ModelSettings(force=request.force)
            kind.require(str(name), tokenizer=tokenizer, settings=settings)
        for file in kind.own_files:
            if file.exists() and file.samefile(request.texts):
                raise ValueError(
                    f"draft {kind} must not be read from the texts that it drafts for, got {file}"
                )
        copies = kind.from_texts(tokenizer)
        if copies is None:
            raise ValueError(
                f"draft must be lookup, suffix or ngram with texts, got {request.draft}"
            )
        return cls(request, tokenizer, copies)

    def count(self, part: LogPart) -> Totals:
        """Returns the counts over the texts of one part of the log.

        Raises BadLineError at the first bad line, unless bad lines are skipped.
        """
        texts, bad = encoded(part, self.tokenizer)
        skipped = [f"{self.request.texts} line {number}: {reason}" for number, reason in bad]
        if skipped and not self.request.skip_bad_lines:
            raise BadLineError(skipped[0])
        found = self._counts(texts)
        if not skipped:
            return found
        return msgspec.structs.replace(found, skipped=len(skipped), first_skipped=skipped[0])

    def _counts(self, pairs: list[Pair]) -> Totals:
        longest = self.request.max_gamma
        if not pairs:
            return nothing(longest)
        texts = Texts.of(pairs)
        copied: Copied = self.copies(texts, longest)
        return totals(texts, copied, longest)
