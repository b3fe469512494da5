"""Texts scored by both models of a pair: on this machine, or by the engine itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from engines.engine import Engine, ScoringServer, Setting
from engines.scores import local_models
from engines.scores.text_scores import TextScores

# A prompt and its text.
Text = tuple[tuple[int, ...], tuple[int, ...]]
Pair = tuple[TextScores, TextScores]
# From texts and the temperature that their laws are meant at to scores of target and draft.
Scorer = Callable[[Sequence[Text], float], list[Pair]]


@dataclass(slots=True)
class LocalScorer:
    """Both models loaded on this machine, from names or folders; scores at any temperature."""

    target: str
    draft: str
    _loaded: dict[str, Any] = field(default_factory=dict)

    def __call__(self, texts: Sequence[Text], temperature: float) -> list[Pair]:
        for source in (self.target, self.draft):
            if source not in self._loaded:
                self._loaded[source] = local_models.load(source)
        return [
            (
                local_models.score(self._loaded[self.target], *text, temperature=temperature),
                local_models.score(self._loaded[self.draft], *text, temperature=temperature),
            )
            for text in texts
        ]


@dataclass(frozen=True, slots=True)
class EngineScorer:
    """An engine that serves each model alone and scores given texts."""

    engine: Engine

    def __call__(self, texts: Sequence[Text], temperature: float) -> list[Pair]:
        require_scored_temperature(temperature)
        of_target, of_draft = (self._scores(model, texts) for model in ("target", "draft"))
        return list(zip(of_target, of_draft, strict=True))

    def _scores(self, model: Literal["target", "draft"], texts: Sequence[Text]) -> list[TextScores]:
        with self.engine.serve(Setting(0, model=model)) as server:
            if not isinstance(server, ScoringServer):
                raise ValueError("laws must be local with a server that scores no given text")
            return [server.score(*text) for text in texts]


def require_scored_temperature(temperature: float) -> None:
    """Refuses temperatures whose laws a server does not tell: it scores given texts at 1 alone.

    Raises:
      ValueError: if temperature is neither 0 nor 1.
    """
    if temperature not in (0, 1):
        raise ValueError(
            "temperature must be 0 or 1 where the server scores texts, whose log-probabilities are "
            f"of temperature 1, got {temperature:g}"
        )
