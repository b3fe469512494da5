"""`lookup+ngram`: a lookup, and an n-gram model for blocks in which the lookup finds nothing."""

from __future__ import annotations

from dataclasses import dataclass

from estimator.draft_names.kind import JOINED_BY_SIGNS, DrafterKind, DrafterOf, LoadContext
from estimator.draft_names.lookup import Lookup
from estimator.draft_names.ngram import Ngram


@dataclass(frozen=True, slots=True)
class LookupOrNgram(DrafterKind):
    """A lookup, and an n-gram model for the blocks in which the lookup proposes nothing."""

    names = ("lookup+ngram",)
    match_priority = JOINED_BY_SIGNS

    lookup: Lookup
    ngram: Ngram

    @classmethod
    def parse(cls, text: str) -> LookupOrNgram | None:
        first, _, second = text.partition("+")
        if second.partition(":")[0] != Ngram.prefix:
            return None
        lookup, ngram = Lookup.parse(first), Ngram.parse(second)
        return None if lookup is None or ngram is None else cls(lookup, ngram)

    @property
    def parts(self) -> tuple[DrafterKind, ...]:
        return self.lookup, self.ngram

    def load(self, context: LoadContext) -> DrafterOf:
        from ngram.drafters.ngram_drafter import LookupThenNgram

        otherwise = self.ngram.maker(context)
        return lambda sampling: LookupThenNgram(self.lookup.drafter(context), otherwise(sampling))
