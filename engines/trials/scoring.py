"""Texts scored by both models of a pair: on this machine, or by the engine itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engines.engine import Setting
from engines.scores import local_models
from engines.scores.text_scores import TextScores
from engines.vllm import Vllm, VllmServer

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
class VllmScorer:
    """vLLM started on each model alone, or servers of each that are up.

    servers: of target and draft; None: the engine's own are started.
    """

    engine: Vllm
    servers: tuple[VllmServer, VllmServer] | None = None

    def __call__(self, texts: Sequence[Text], temperature: float) -> list[Pair]:
        require_scored_temperature(temperature)
        if self.servers is not None:
            target, draft = self.servers
            return [(target.score(*text), draft.score(*text)) for text in texts]
        with self.engine.serve(Setting(0)) as target:
            of_target = [target.score(*text) for text in texts]
        with self.engine.serve(Setting(0, model="draft")) as draft:
            of_draft = [draft.score(*text) for text in texts]
        return list(zip(of_target, of_draft, strict=True))


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
