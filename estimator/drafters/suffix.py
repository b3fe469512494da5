"""`suffix`, `suffix:N`: what most often followed the text's last tokens, the more the surer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from estimator.drafters.kind import Beside, DrafterKind, positive, value_of
from ngram.drafters.suffixes import DEPTH, MOST_DEPTH

if TYPE_CHECKING:
    from estimator.drafters.kind import Copies, DrafterOf


@dataclass(frozen=True, slots=True)
class Suffix(DrafterKind):
    """Suffix decoding (Oliaro et al. 2024) over the prompt and what is written.

    depth: of its tree: tokens of a suffix and its continuation together.
    """

    word = "suffix"
    forms = ("suffix", "suffix:N")

    depth: int = DEPTH

    @classmethod
    def parse(cls, text: str) -> Suffix | None:
        if text.partition(":")[0] != cls.word:
            return None
        value = value_of(text, cls)
        if value is None:
            return cls()
        depth = positive(value, "suffix:N", text)
        if not 2 <= depth <= MOST_DEPTH:
            raise ValueError(f"draft suffix:N needs an N in 2..{MOST_DEPTH}, got {text!r}")
        return cls(depth)

    def __str__(self) -> str:
        return self.word if self.depth == DEPTH else f"{self.word}:{self.depth}"

    @property
    def suffix_depth(self) -> int:
        return self.depth

    def copies(self, tokenizer: Any) -> Copies:
        from ngram.copies.suffixes import suffixes

        return lambda texts, max_gamma: suffixes(texts, max_gamma=max_gamma, depth=self.depth)

    def load(self, beside: Beside) -> DrafterOf:
        from ngram.drafters.copying import CopyingDrafter
        from ngram.drafters.suffixes import Suffixes

        device = beside.target.device
        return lambda sampling: CopyingDrafter(
            lambda: Suffixes(self.depth), name=str(self), device=device
        )
