"""Specplan's own decoder with the interface of an engine, so that it can be tuned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version

from engines.counting import NOTHING, Counts
from engines.engine import Completion, Setting
from engines.kind import EngineKind
from estimator.timing.arms import Subject, text_times

# Users name it by naming no engine.
OWN = EngineKind(name="own", title="specplan's own decoder", drafts_with_prompt=True)


class OwnDecoder:
    """The decoder with a pair; texts continue after an end-of-text token."""

    flags = ()

    def __init__(self, subject: Subject) -> None:
        """Stores the pair and its settings."""
        self._subject = replace(subject, stopping=replace(subject.stopping, end_ids=frozenset()))

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[OwnServer]:
        yield OwnServer(self._subject, setting)


class OwnServer:
    """A pair in this process; it counts like a server."""

    model = None
    version = f"specplan {version('specplan')}"

    def __init__(self, subject: Subject, setting: Setting) -> None:
        self._subject, self._counts = subject, NOTHING
        self._gamma, self._p_min = setting.gamma, setting.p_min

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a text, with the pair's length and temperature; see `EngineServer`.

        The first block counts as the pass over the prompt.
        """
        blocks, times = text_times(
            self._subject, prompt, gamma=self._gamma, seed=seed, p_min=self._p_min
        )
        for block in blocks:
            if block.drafted:
                accepted = (1,) * block.accepted + (0,) * (self._gamma - block.accepted)
                self._counts += Counts.of(1, len(block.drafted), accepted)
        tokens = tuple(token for block in blocks for token in block.tokens)
        return Completion(tokens, len(blocks[0].tokens), times[-1] - times[0])

    def counts(self) -> Counts:
        return self._counts
