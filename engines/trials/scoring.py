"""Texts scored by both models of a pair: on this machine, or by the engine itself."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from engines.engine import Engine, ScoringServer, Setting
from engines.text_scores import TextScores, load_causal, score_text

# A prompt and its text.
Text = tuple[tuple[int, ...], tuple[int, ...]]
Pair = tuple[TextScores, TextScores]
# From texts and the temperature that their laws are meant at to scores of target and draft.
Scorer = Callable[[Sequence[Text], float], list[Pair]]


class LocalScorer:
    """Both models loaded on this machine, from names or folders; scores at any temperature."""

    def __init__(self, target: str, draft: str) -> None:
        self.target, self.draft = target, draft
        self._loaded: dict[str, Any] = {}

    def __call__(self, texts: Sequence[Text], temperature: float) -> list[Pair]:
        for source in (self.target, self.draft):
            if source not in self._loaded:
                self._loaded[source] = load_causal(source)
        return [
            (
                score_text(self._loaded[self.target], *text, temperature=temperature),
                score_text(self._loaded[self.draft], *text, temperature=temperature),
            )
            for text in texts
        ]


class EngineScorer:
    """An engine that serves both models, one after the other, and scores given texts."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

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
    """Refuses temperatures at which a server cannot score: it scores given texts only at 1.

    Raises:
      ValueError: if temperature is neither 0 nor 1.
    """
    if temperature not in (0, 1):
        raise ValueError(
            "temperature must be 0 or 1 where the server scores texts, whose log-probabilities are "
            f"of temperature 1, got {temperature:g}"
        )
