"""Engines that decode in this process: their common parts, and specplan's own decoder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from itertools import chain
from typing import Any, ClassVar

from engines.counting import NOTHING, Counts
from engines.engine import Completion, Setting
from engines.kind import EngineKind
from estimator.timing.arms import Subject, timed_blocks

# Users name it by naming no engine.
OWN = EngineKind(name="own", title="specplan's own decoder", drafts_with_prompt=True)


class InProcessPair(ABC):
    """A pair whose models are loaded once and decode one text at a time.

    Example: `engines.servers.transformers.Transformers`.
    """

    # The engine and why it takes no simultaneous requests, for the message that refuses them.
    one_text: ClassVar[str]

    def __init__(self, target: str, draft: str) -> None:
        self.target, self.draft = target, draft
        self._loaded = cache(self.load)

    @abstractmethod
    def load(self, source: str) -> Any:
        """Loads and returns a model; source: its name or folder."""

    def models(self, setting: Setting) -> tuple[Any, Any | None]:
        """Returns the model that decodes, and its draft; None in place of the draft if γ = 0."""
        if setting.concurrency != 1:
            raise ValueError(
                f"concurrency must be 1 with {self.one_text}, got {setting.concurrency}"
            )
        target, draft = self._loaded(self.target), self._loaded(self.draft)
        return target if setting.model == "target" else draft, draft if setting.gamma > 0 else None


# The tokens of a block, the time of its end, and its number of drafted tokens; None: γ, or fewer
# where the text has no room for γ tokens and one more.
Decoded = tuple[Sequence[int], float, int | None]


class InProcessServer(ABC):
    """Decodes in this process and counts like a server."""

    model = None

    def __init__(self, engine_version: str, setting: Setting) -> None:
        self.version, self.setting, self._counts = engine_version, setting, NOTHING

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a text; see `EngineServer`. Its first block is the pass over the prompt."""
        texts, times, gamma, room = list[Sequence[int]](), [], self.setting.gamma, max_new_tokens
        for tokens, end, drafted in self.blocks(prompt, max_new_tokens, temperature, seed):
            texts.append(tokens)
            times.append(end)
            drafted = min(gamma, room - 1) if drafted is None else drafted
            if drafted > 0:
                accepted = len(tokens) - 1
                hits = (1,) * accepted + (0,) * (gamma - accepted)
                self._counts += Counts.of(1, drafted, hits)
            room -= len(tokens)
        return Completion(tuple(chain(*texts)), len(texts[0]), times[-1] - times[0])

    def counts(self) -> Counts:
        return self._counts

    @abstractmethod
    def blocks(
        self, prompt: Sequence[int], length: int, temperature: float, seed: int
    ) -> Iterator[Decoded]:
        """Yields the blocks of a text of `length` tokens after a prompt."""


class OwnDecoder:
    """specplan's own decoder as an engine; an end-of-text token does not end a text."""

    flags = ()

    def __init__(self, subject: Subject) -> None:
        self._subject = replace(subject, stopping=replace(subject.stopping, end_ids=frozenset()))

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[OwnServer]:
        yield OwnServer(self._subject, setting)


class OwnServer(InProcessServer):
    """Decodes with a pair of models, whose settings give the texts' length and temperature."""

    def __init__(self, subject: Subject, setting: Setting) -> None:
        super().__init__(f"specplan {version('specplan')}", setting)
        self._subject = subject

    def blocks(
        self, prompt: Sequence[int], _length: int, _temperature: float, seed: int
    ) -> Iterator[Decoded]:
        gamma, p_min = self.setting.gamma, self.setting.p_min
        for block, end in timed_blocks(self._subject, prompt, gamma=gamma, p_min=p_min, seed=seed):
            yield block.tokens, end, len(block.drafted)
