"""The protocols of an engine: it serves a pair at one γ, and its server decodes ids and counts."""

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
    """How a server is to decode.

    gamma: drafted tokens per block; 0: no speculation.
    draft_sampling: whether drafts are drawn from the draft's law or are its argmax.
    concurrency: requests that run at once, at most.
    model: which model of the pair is served; a draft without its target, to score texts.
    synthetic: acceptance rates by position, unconditional, one for each drafted token, that the
      server simulates in place of verifying; None: it verifies.
    p_min: confidence below which a draft ends, by the engine's own rule; 0: never.
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

    tokens: its ids, as the engine sent them.
    first: how many of them the pass over the prompt gave, at least 1; what follows is decoding.
    seconds: decoding time, from the first tokens to the last.
    """

    tokens: tuple[int, ...]
    first: int
    seconds: float


class EngineServer(Protocol):
    """A pair that is served."""

    @property
    def version(self) -> str:
        """The engine's version."""

    @property
    def model(self) -> str | None:
        """The served model's name at the server; None: the server does not report it."""

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a text of exactly max_new_tokens ids; ends of text are written on past."""

    def counts(self) -> Counts:
        """Returns the engine's own counters of drafts and acceptances since it started."""


@runtime_checkable
class ScoringServer(EngineServer, Protocol):
    """A server that scores given texts."""

    def score(self, prompt: Sequence[int], tokens: Sequence[int]) -> TextScores:
        """Returns how likely the served model finds a text, at temperature 1."""


class Engine(Protocol):
    """An engine and the pair that it serves."""

    @property
    def flags(self) -> tuple[str, ...]:
        """How it is set, for the record."""

    def serve(self, setting: Setting) -> AbstractContextManager[EngineServer]:
        """Serves the pair until the context ends, normally or by an error."""
