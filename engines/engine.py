"""The protocols of an engine, which serves a pair, and of its server, which decodes and counts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from engines.counting import Counts
from engines.text_scores import TextScores
from estimator.traces.traces import DraftSampling


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of one server.

    gamma: drafted tokens per block; 0: no speculation.
    draft_sampling: whether drafts are drawn from the draft's distribution or are its argmax.
    concurrency: most simultaneous requests.
    model: "target": the target is served, with its draft if γ > 0; "draft": the draft by itself.
    synthetic: unconditional acceptance rates that the server simulates, one for each of the γ
      positions; None: the server verifies drafts.
    p_min: confidence below which a draft ends, by the engine's own rule; 0: no draft ends early.
    """

    gamma: int
    draft_sampling: DraftSampling = "argmax"
    concurrency: int = 1
    model: Literal["target", "draft"] = "target"
    synthetic: tuple[float, ...] | None = None
    p_min: float = 0.0


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that an engine wrote.

    tokens: ids of the text.
    first: number of tokens that the pass over the prompt emitted, at least 1.
    seconds: seconds from these first tokens to the last token.
    """

    tokens: tuple[int, ...]
    first: int
    seconds: float


class EngineServer(Protocol):
    """A running server of a pair.

    Example: `engines.servers.in_process.OwnServer`.
    """

    @property
    def version(self) -> str:
        """Version of the engine."""

    @property
    def model(self) -> str | None:
        """The served model's name; None if the server does not report it."""

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a text of exactly max_new_tokens ids; an end-of-text token does not end it."""

    def counts(self) -> Counts:
        """Returns the server's counters of drafts and acceptances since its start."""


@runtime_checkable
class ScoringServer(EngineServer, Protocol):
    """A server that can also score a text that is given to it."""

    def score(self, prompt: Sequence[int], tokens: Sequence[int]) -> TextScores:
        """Returns the served model's scores of a text at temperature 1."""


class Engine(Protocol):
    """An engine and the pair that it serves.

    Example: `engines.servers.in_process.OwnDecoder`.
    """

    @property
    def flags(self) -> tuple[str, ...]:
        """The engine's flags or settings, to be stored with the results."""

    def serve(self, setting: Setting) -> AbstractContextManager[EngineServer]:
        """Serves the pair with a setting until the context exits; yields the server."""
