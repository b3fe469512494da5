"""Scores texts with both models of a pair: on this machine, or on the engine."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from engines.engine import Engine, ScoringServer, Setting
from engines.text_scores import TextScores, load_causal, score_text

# A prompt and its text.
Text = tuple[tuple[int, ...], tuple[int, ...]]
Pair = tuple[TextScores, TextScores]
# Returns target and draft scores of texts at a temperature.
Scorer = Callable[[Sequence[Text], float], list[Pair]]


class LocalScorer:
    """Scores with both models loaded on this machine, at any temperature.

    target, draft: names or folders.
    """

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
    """Scores on an engine, which serves one model after the other."""

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
    """Refuses temperatures other than 0 and 1: servers score texts only at temperature 1."""
    if temperature not in (0, 1):
        raise ValueError(
            "temperature must be 0 or 1 where the server scores texts, whose log-probabilities are "
            f"of temperature 1, got {temperature:g}"
        )
