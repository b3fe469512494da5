"""One prompt, and a text that is about to be decoded after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from estimator.loading.pairs import Loaded
from estimator.settings import PromptSource
from reference.generation import Begun
from reference.rules.strict import Rule
from reference.stopping import Stopping, StopStrings

# Where prompts come from; a prompt of its own takes the place of all.
SOURCES = ("prompts", "dataset", "dataset_config", "dataset_split")


@dataclass(frozen=True, slots=True, kw_only=True)
class OneText:
    """What every way to decode one text reads.

    text: where its prompt comes from, the first one; how much is written after it.
    prompt: text that takes the place of prompts; None: theirs.

    Raises:
      ValueError: if the prompt is empty, or stated in two ways.
    """

    text: PromptSource = field(default_factory=PromptSource)
    prompt: str | None = None

    def __post_init__(self) -> None:
        if self.prompt is None:
            return
        if not self.prompt.strip():
            raise ValueError("prompt must not be empty, got an empty one")
        for source in SOURCES:
            if getattr(self.text, source) is not None:
                raise ValueError(f"prompt and {source} cannot both be given")

    def started(self, loaded: Loaded, begun: Begun, rule: Rule) -> Started:
        """Returns the text to come, with what a reader should see before it.

        Of a prompt that is neither a template's nor an encoder's, that is its ids.
        """
        [ids] = loaded.prompts
        hidden = self.text.chat or begun.text != ids
        return Started(loaded.tokenizer, [] if hidden else list(ids), begun, rule)


@dataclass(frozen=True, slots=True)
class Started:
    """A text of which blocks are about to come.

    before: ids that a reader should see before the blocks; none where a template hides them.
    begun: the text, whose blocks are made as they are asked for.
    """

    tokenizer: Any
    before: list[int]
    begun: Begun
    rule: Rule


def require_strings(stop_strings: Sequence[str]) -> None:
    """Refuses to stop at nothing."""
    if "" in stop_strings:
        raise ValueError("a stop string must have at least one character, got ''")


def stopping_at(loaded: Loaded, stop_strings: tuple[str, ...]) -> Stopping:
    """Returns when a text ends, by strings too."""
    if not stop_strings:
        return loaded.stopping
    strings = StopStrings(stop_strings, loaded.tokenizer.decode)
    return replace(loaded.stopping, stop_strings=strings)
