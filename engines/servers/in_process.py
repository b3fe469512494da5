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


class InProcessServer:
    """Decodes in this process and counts like a server. Subclasses define `complete`."""

    model = None

    def __init__(self, engine_version: str, setting: Setting) -> None:
        self.version, self._setting, self._counts = engine_version, setting, NOTHING

    def counts(self) -> Counts:
        return self._counts


class OwnDecoder:
    """specplan's own decoder as an engine; an end-of-text token does not end a text."""

    flags = ()

    def __init__(self, subject: Subject) -> None:
        self._subject = replace(subject, stopping=replace(subject.stopping, end_ids=frozenset()))

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[OwnServer]:
        yield OwnServer(self._subject, setting)


class OwnServer(InProcessServer):
    """Decodes with a pair of models and specplan's own decoder."""

    def __init__(self, subject: Subject, setting: Setting) -> None:
        super().__init__(f"specplan {version('specplan')}", setting)
        self._subject = subject

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a text; see `EngineServer`. The pair's settings give its length and temperature.

        The first block counts as the pass over the prompt.
        """
        gamma, p_min = self._setting.gamma, self._setting.p_min
        texts, times = [], []
        for block, end in timed_blocks(self._subject, prompt, gamma=gamma, p_min=p_min, seed=seed):
            times.append(end)
            texts.append(block.tokens)
            if block.drafted:
                accepted = (1,) * block.accepted + (0,) * (gamma - block.accepted)
                self._counts += Counts.of(1, len(block.drafted), accepted)
        return Completion(tuple(chain(*texts)), len(texts[0]), times[-1] - times[0])
