"""`lookup+ngram`: a lookup, and an n-gram model where it finds nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.draft_names.kind import JOINED_BY_SIGNS, Beside, DrafterKind
from estimator.draft_names.lookup import Lookup
from estimator.draft_names.ngram import Ngram

if TYPE_CHECKING:
    from estimator.draft_names.kind import DrafterOf


@dataclass(frozen=True, slots=True)
class LookupOrNgram(DrafterKind):
    """A lookup, and what drafts the blocks for which it proposes nothing."""

    forms = ("lookup+ngram",)
    tried = JOINED_BY_SIGNS

    lookup: Lookup
    ngram: Ngram

    @classmethod
    def parse(cls, text: str) -> LookupOrNgram | None:
        first, _, second = text.partition("+")
        if second.partition(":")[0] != Ngram.word:
            return None
        lookup, ngram = Lookup.parse(first), Ngram.parse(second)
        return None if lookup is None or ngram is None else cls(lookup, ngram)

    @property
    def parts(self) -> tuple[DrafterKind, ...]:
        return self.lookup, self.ngram

    def load(self, beside: Beside) -> DrafterOf:
        from ngram.drafters.lookup_then_ngram import LookupThenNgram

        otherwise = self.ngram.maker(beside)
        return lambda sampling: LookupThenNgram(self.lookup.drafter(beside), otherwise(sampling))
