"""`lookup+ngram`: a lookup, and an n-gram model for blocks in which the lookup finds nothing."""

from dataclasses import dataclass
from typing import Any, Self

from estimator.draft_names.kind import JOINED_BY_SIGNS, DrafterKind, DrafterOf, LoadContext
from estimator.draft_names.lookup import Lookup
from estimator.draft_names.ngram import Ngram


@dataclass(frozen=True, slots=True)
class LookupOrNgram(DrafterKind):
    names = ("lookup+ngram",)
    match_priority = JOINED_BY_SIGNS

    lookup: Lookup
    ngram: Ngram

    @classmethod
    def parse(cls, text: str) -> Self | None:
        first, _, second = text.partition("+")
        ngram = Ngram.parse(second)
        lookup = None if ngram is None else Lookup.parse(first)
        if not isinstance(ngram, Ngram) or not isinstance(lookup, Lookup):
            return None
        return cls(lookup, ngram)

    def load(self, context: LoadContext) -> DrafterOf:
        from ngram.drafters import LookupThenNgram

        lookup: Any = self.lookup.load(context)
        otherwise: Any = self.ngram.load(context)
        return lambda sampling: LookupThenNgram(lookup(sampling), otherwise(sampling))
