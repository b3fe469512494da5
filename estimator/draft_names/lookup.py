"""`lookup`, `lookup:N`, `lookup:vllm:MIN-MAX`: copies after an earlier match of the last tokens."""

import re
from dataclasses import dataclass
from typing import Any, Self

from estimator.draft_names.kind import Copies, DrafterKind, DrafterOf, LoadContext, positive
from ngram.indexes import LONGEST, MOST

# vLLM's prompt_lookup_min and prompt_lookup_max where neither is given.
VLLM_LENGTH = 5
_FORM = re.compile(r"lookup:vllm(?::(\d+)-(\d+))?")


@dataclass(frozen=True, slots=True)
class Lookup(DrafterKind):
    """Copies what followed the latest of the longest matches in the text. No server has this rule.

    longest: largest number of tokens in a match.
    """

    prefix = "lookup"
    names = ("lookup", "lookup:N")

    longest: int = LONGEST

    @classmethod
    def parse(cls, text: str) -> DrafterKind | None:
        vllm = text.startswith(LookupOfVllm.prefix)
        return None if vllm else super(Lookup, cls).parse(text)

    @classmethod
    def of_value(cls, value: str, text: str) -> Self:
        longest = positive(value, "lookup:N", text)
        if longest > MOST:
            raise ValueError(f"draft lookup:N needs an N of at most {MOST}, got {text!r}")
        return cls(longest)

    @property
    def lookup_lengths(self) -> tuple[int, int]:
        return 1, self.longest

    def from_texts(self, tokenizer: Any) -> Copies:
        from ngram.copies.texts import lookups

        return lambda texts, max_gamma: lookups(texts, longest=self.longest, max_gamma=max_gamma)

    def load(self, context: LoadContext) -> DrafterOf:
        from ngram.drafters import PromptLookupDrafter

        device = context.target.device
        return lambda sampling: PromptLookupDrafter(device=device, longest=self.longest)


@dataclass(frozen=True, slots=True)
class LookupOfVllm(DrafterKind):
    """Copies what followed the earliest of the longest matches, at most to the text's end.

    shortest, longest: fewest and most tokens in a match; prompt_lookup_min and prompt_lookup_max
      in vLLM. With shortest = 1, prompt_lookup_num_tokens in transformers has this rule, too.
    """

    prefix = "lookup:vllm"
    names = ("lookup:vllm", "lookup:vllm:MIN-MAX")
    copies_earliest = True

    shortest: int = VLLM_LENGTH
    longest: int = VLLM_LENGTH

    @classmethod
    def parse(cls, text: str) -> Self | None:
        if not text.startswith(cls.prefix) or "+" in text:
            return None
        found = _FORM.fullmatch(text)
        sizes = [int(size or VLLM_LENGTH) for size in found.groups()] if found else [0, 0]
        if not 1 <= sizes[0] <= sizes[1] <= MOST:
            raise ValueError(
                f"draft {cls.names[1]} needs lengths of a match in 1..{MOST}, the smaller first, "
                f"got {text!r}"
            )
        return cls(*sizes)

    @property
    def lookup_lengths(self) -> tuple[int, int]:
        return self.shortest, self.longest

    def from_texts(self, tokenizer: Any) -> Copies:
        from ngram.copies.texts import lookups

        lengths: dict[str, Any] = {"shortest": self.shortest, "longest": self.longest}
        return lambda texts, gamma: lookups(texts, max_gamma=gamma, earliest=True, **lengths)

    def load(self, context: LoadContext) -> DrafterOf:
        from ngram.drafters import PromptLookupDrafter

        lengths: dict[str, Any] = {"shortest": self.shortest, "longest": self.longest}
        device = context.target.device
        return lambda sampling: PromptLookupDrafter(device=device, earliest=True, **lengths)
