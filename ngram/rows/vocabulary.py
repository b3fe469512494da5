"""The facts about a tokenizer that an n-gram model needs."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The ids of a tokenizer.

    tokens: number of ids.
    end: the end-of-text id; `</s>` in an ARPA file.
    begin: the beginning-of-text id; None if there is none.
    """

    tokens: int
    end: int
    begin: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.end < self.tokens:
            raise ValueError(f"the end-of-text id must lie in [0, {self.tokens}), got {self.end}")

    @property
    def breaks(self) -> frozenset[int]:
        """The ids after which a new text begins."""
        return frozenset({self.end} if self.begin is None else {self.end, self.begin})


def vocabulary_of(tokenizer: Any) -> Vocabulary:
    """Returns the ids of a Hugging Face tokenizer.

    Raises:
      ValueError: if it has no end of text.
    """
    if tokenizer.eos_token_id is None:
        raise ValueError("a tokenizer must have an end-of-text token (eos_token), got none")
    return Vocabulary(len(tokenizer), tokenizer.eos_token_id, tokenizer.bos_token_id)
