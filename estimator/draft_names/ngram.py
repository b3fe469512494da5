"""`ngram`, `ngram:FILE.arpa`: an n-gram model; without a file the embedded one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.draft_names.kind import Copies, DrafterKind, DrafterOf, LoadContext, Needs, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ngram.drafters.ngram_drafter import NgramDrafter
    from ngram.rows.rows import Rows
    from reference.laws import Sampling


@dataclass(frozen=True, slots=True)
class Ngram(DrafterKind):
    """An n-gram model.

    file: ARPA file; None: the embedded model.
    """

    prefix = "ngram"
    names = ("ngram", "ngram:FILE.arpa")
    rescores = True

    file: str | None = None

    @classmethod
    def parse(cls, text: str) -> Ngram | None:
        return cls(value_of(text, cls)) if text.partition(":")[0] == cls.prefix else None

    def __str__(self) -> str:
        return self.prefix if self.file is None else f"{self.prefix}:{self.file}"

    @property
    def own_files(self) -> tuple[Path, ...]:
        from ngram.formats.model_files import FOLDER

        return (Path(FOLDER if self.file is None else self.file),)

    def require(self, needs: Needs) -> None:
        from ngram.formats.model_files import require_embedded_tokenizer, require_tokenizer

        if self.file is None:
            require_embedded_tokenizer(needs.tokenizer, name=needs.target)
            return
        path = Path(self.file)
        if not path.is_file():
            raise ValueError(f"draft ngram:FILE must be an existing file, got {path}")
        if not needs.settings.force:
            require_tokenizer(path, needs.tokenizer, name=needs.target)

    def rows(self, context: LoadContext) -> Rows:
        """Returns the model's rows, with the width of the target's vocabulary."""
        from ngram.formats.model_files import embedded_model, load_model
        from ngram.rows.rows import Rows
        from ngram.rows.words import vocabulary_of

        model = embedded_model() if self.file is None else load_model(Path(self.file))
        return Rows(model, vocabulary_of(context.tokenizer), width=context.target.vocabulary)

    def from_texts(self, tokenizer: Any) -> Copies:
        from ngram.copies.drafts import ngrams
        from ngram.formats.model_files import embedded_model, load_model
        from ngram.rows.rows import Rows
        from ngram.rows.words import vocabulary_of

        if tokenizer is None:
            raise ValueError(f"draft {self} needs the tokenizer of the texts, got none")
        model = embedded_model() if self.file is None else load_model(Path(self.file))
        rows = Rows(model, vocabulary_of(tokenizer))
        return lambda texts, max_gamma: ngrams(texts, rows, max_gamma=max_gamma)

    def load(self, context: LoadContext) -> DrafterOf:
        return self.maker(context)

    def maker(self, context: LoadContext) -> Callable[[Sampling], NgramDrafter]:
        """Returns the result of `load` with its exact type."""
        from ngram.drafters.ngram_drafter import NgramDrafter

        rows, device = self.rows(context), context.target.device
        return lambda sampling: NgramDrafter(rows, sampling, device=device, name=str(self))
