"""`lookup`, `suffix` and their forms: drafters that copy what followed the text's last tokens."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from estimator.draft_names.kind import Copies, DrafterKind, DrafterOf, LoadContext, positive
from estimator.settings import ModelSettings
from ngram.indexes import DEPTH, LONGEST, MOST, MOST_DEPTH

# vLLM's prompt_lookup_min and prompt_lookup_max where neither is given.
VLLM_LENGTH = 5
_VLLM = re.compile(r"vllm(?::(\d+)-(\d+))?")


@dataclass(frozen=True, slots=True)
class Lookup(DrafterKind):
    """Drafts the tokens that followed the longest earlier match of the text's last tokens.

    longest, shortest: largest and smallest number of tokens in a match (prompt_lookup_max and
      prompt_lookup_min in vLLM).
    earliest: which of several equally long matches is used. True: the earliest, as in vLLM and, for
      shortest = 1, in transformers. False: the latest, which no server does.
    """

    prefix = "lookup"
    names = ("lookup", "lookup:N", "lookup:vllm", "lookup:vllm:MIN-MAX")
    samples = False

    longest: int = LONGEST
    shortest: int = 1
    earliest: bool = False

    @classmethod
    def of_value(cls, value: str, text: str) -> Self:
        if not value.startswith("vllm"):
            longest = positive(value, "lookup:N", text)
            if longest > MOST:
                raise ValueError(f"draft lookup:N needs an N of at most {MOST}, got {text!r}")
            return cls(longest)
        match = _VLLM.fullmatch(value)
        sizes = [int(size or VLLM_LENGTH) for size in match.groups()] if match else [0, 0]
        if not 1 <= sizes[0] <= sizes[1] <= MOST:
            raise ValueError(
                f"draft {cls.names[-1]} needs lengths of a match in 1..{MOST}, the smaller first, "
                f"got {text!r}"
            )
        return cls(sizes[1], sizes[0], earliest=True)

    @property
    def lookup_lengths(self) -> tuple[int, int]:
        return self.shortest, self.longest

    def from_texts(self, tokenizer: Any) -> Copies:
        from ngram.copies.texts import lookups

        matches = asdict(self)
        return lambda texts, max_gamma: lookups(texts, max_gamma=max_gamma, **matches)

    def load(self, context: LoadContext) -> DrafterOf:
        from ngram.drafters import PromptLookupDrafter

        matches = asdict(self)
        return lambda sampling: PromptLookupDrafter(device=context.target.device, **matches)


@dataclass(frozen=True, slots=True)
class Suffix(DrafterKind):
    """Suffix decoding (Oliaro et al. 2024) over the prompt and the output.

    depth: depth of the suffix trees: largest number of tokens in a suffix plus its continuation.
    file: a log of earlier outputs, from which a second tree is built; None: no second tree.
    """

    prefix = "suffix"
    names = ("suffix", "suffix:N", "suffix:FILE", "suffix:N:FILE")
    samples = False

    depth: int = DEPTH
    file: str | None = None

    @classmethod
    def of_value(cls, value: str, text: str) -> Self:
        first, colon, file = value.partition(":")
        if not first.lstrip("-").isdecimal():
            return cls(file=value)
        depth = positive(first, "suffix:N", text)
        if not 2 <= depth <= MOST_DEPTH:
            raise ValueError(f"draft suffix:N needs an N in 2..{MOST_DEPTH}, got {text!r}")
        if colon and not file:
            raise ValueError(f"draft suffix:N: needs a file after the colon, got {text!r}")
        return cls(depth, file or None)

    @property
    def own_files(self) -> tuple[Path, ...]:
        return () if self.file is None else (Path(self.file),)

    @property
    def suffixes(self) -> tuple[int, bool]:
        return self.depth, self.file is not None

    def require(self, target: str, *, tokenizer: Any, settings: ModelSettings) -> None:
        self._require_file()

    def from_texts(self, tokenizer: Any) -> Copies:
        from ngram.copies.suffixes import suffixes
        from ngram.copies.texts import Texts

        outputs = self._outputs(tokenizer)
        earlier = Texts.of([((), output) for output in outputs]) if outputs else None
        return lambda texts, max_gamma: suffixes(
            texts, max_gamma=max_gamma, depth=self.depth, earlier=earlier
        )

    def load(self, context: LoadContext) -> DrafterOf:
        from ngram.drafters import CopyingDrafter
        from ngram.indexes import Suffixes

        outputs, device = self._outputs(context.tokenizer), context.target.device
        earlier = Suffixes.of_outputs(outputs, self.depth) if outputs else None
        return lambda sampling: CopyingDrafter(
            lambda: Suffixes(self.depth, earlier), name=str(self), device=device
        )

    def _outputs(self, tokenizer: Any) -> list[Sequence[int]]:
        from estimator.prompts.logs import earlier_outputs

        self._require_file()
        return [] if self.file is None else earlier_outputs(Path(self.file), tokenizer)

    def _require_file(self) -> None:
        if self.file is not None and not Path(self.file).is_file():
            raise ValueError(f"draft suffix:FILE must be an existing file, got {self.file}")
