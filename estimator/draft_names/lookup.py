"""`lookup`, `lookup:N`: what followed the text's last tokens where they stood before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from estimator.draft_names.kind import DrafterKind, LoadContext, positive, value_of
from ngram.drafters.matches import LONGEST, MOST

if TYPE_CHECKING:
    from estimator.draft_names.kind import Copies, DrafterOf
    from ngram.drafters.copying import PromptLookupDrafter


@dataclass(frozen=True, slots=True)
class Lookup(DrafterKind):
    """Copies from the latest of the longest matches in the text; no server does just this.

    longest: tokens of a match, at most.
    """

    prefix = "lookup"
    names = ("lookup", "lookup:N")

    longest: int = LONGEST

    @classmethod
    def parse(cls, text: str) -> Lookup | None:
        if text.partition(":")[0] != cls.prefix or text.startswith("lookup:vllm"):
            return None
        value = value_of(text, cls)
        if value is None:
            return cls()
        longest = positive(value, "lookup:N", text)
        if longest > MOST:
            raise ValueError(f"draft lookup:N needs an N of at most {MOST}, got {text!r}")
        return cls(longest)

    @property
    def lookup_lengths(self) -> tuple[int, int]:
        return 1, self.longest

    def from_texts(self, tokenizer: Any) -> Copies:
        from ngram.copies.drafts import lookups

        return lambda texts, max_gamma: lookups(texts, longest=self.longest, max_gamma=max_gamma)

    def drafter(self, context: LoadContext) -> PromptLookupDrafter:
        """Returns the drafter, which has no sampling of its own."""
        from ngram.drafters.copying import PromptLookupDrafter

        return PromptLookupDrafter(device=context.target.device, longest=self.longest)

    def load(self, context: LoadContext) -> DrafterOf:
        return lambda sampling: self.drafter(context)
