"""`ngram`, `ngram:FILE.arpa`, `lookup+ngram`, `random`: tokens by their counts, or any tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from estimator.draft_names.copying import Lookup
from estimator.draft_names.kind import JOINED_BY_SIGNS, Copies, DrafterKind, DrafterOf, LoadContext
from estimator.settings import ModelSettings

if TYPE_CHECKING:
    from ngram.rows.rows import Rows


@dataclass(frozen=True, slots=True)
class Ngram(DrafterKind):
    """An n-gram model. file: its ARPA file; None: the embedded model."""

    prefix = "ngram"
    names = ("ngram", "ngram:FILE.arpa")
    rescores = True

    file: str | None = None

    @property
    def reads(self) -> frozenset[str]:
        return frozenset() if self.file is None else frozenset({"force"})

    @property
    def own_files(self) -> tuple[Path, ...]:
        from ngram.formats.model_files import FOLDER

        return (Path(FOLDER if self.file is None else self.file),)

    def require(self, target: str, *, tokenizer: Any, settings: ModelSettings) -> None:
        if self.file is not None and not Path(self.file).is_file():
            raise ValueError(f"draft ngram:FILE must be an existing file, got {Path(self.file)}")
        if tokenizer is None:
            return
        from ngram.formats.model_files import require_embedded_tokenizer, require_tokenizer

        if self.file is None:
            require_embedded_tokenizer(tokenizer, name=target)
        elif not settings.force:
            require_tokenizer(Path(self.file), tokenizer, name=target)

    def rows(self, tokenizer: Any, *, width: int | None = None) -> Rows:
        """Returns the n-gram model's next-token distributions; width: ids per distribution."""
        from ngram.formats.model_files import embedded_model, load_model
        from ngram.rows.rows import Rows, vocabulary_of

        model = embedded_model() if self.file is None else load_model(Path(self.file))
        return Rows(model, vocabulary_of(tokenizer), width=width)

    def from_texts(self, tokenizer: Any) -> Copies:
        from ngram.copies.texts import ngrams

        if tokenizer is None:
            raise ValueError(f"draft {self} needs the tokenizer of the texts, got none")
        rows = self.rows(tokenizer)
        return lambda texts, max_gamma: ngrams(texts, rows, max_gamma=max_gamma)

    def load(self, context: LoadContext) -> DrafterOf:
        from ngram.drafters import NgramDrafter

        target, device = context.target, context.target.device
        rows = self.rows(context.tokenizer, width=target.vocabulary)
        return lambda sampling: NgramDrafter(rows, sampling, device=device, name=str(self))


@dataclass(frozen=True, slots=True)
class LookupOrNgram(DrafterKind):
    """A lookup, and an n-gram model for blocks in which the lookup finds nothing."""

    names = ("lookup+ngram",)
    samples = False
    match_priority = JOINED_BY_SIGNS

    lookup: Lookup
    ngram: Ngram

    @classmethod
    def parse(cls, text: str) -> Self | None:
        first, _, second = text.partition("+")
        ngram = Ngram.parse(second)
        lookup = None if ngram is None else Lookup.parse(first)
        if not isinstance(lookup, Lookup) or lookup.earliest:
            return None
        return cls(lookup, cast(Ngram, ngram))

    def load(self, context: LoadContext) -> DrafterOf:
        from ngram.drafters import LookupThenNgram

        lookup: Any = self.lookup.load(context)
        otherwise: Any = self.ngram.load(context)
        return lambda sampling: LookupThenNgram(lookup(sampling), otherwise(sampling))


@dataclass(frozen=True, slots=True)
class Random(DrafterKind):
    """Drafts uniformly random tokens."""

    prefix = "random"
    names = ("random",)
    samples = False

    def load(self, context: LoadContext) -> DrafterOf:
        from reference.drafters.model_drafter import RandomDrafter

        target = context.target
        return lambda sampling: RandomDrafter(target.vocabulary, target.device)
