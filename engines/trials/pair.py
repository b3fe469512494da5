"""From a request to its engine, the scorer of its texts, and the trial to run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from engines.engine import Engine, ScoringServer, Setting
from engines.kind import Models
from engines.servers.running import RunningPair
from engines.text_scores import TextScores, load_causal, score_text
from engines.trials.request import MeasureEngine, ValidateEngine
from engines.trials.trial import Trial
from estimator.loading.folders import folder_pair
from estimator.timing.processes import require_one_process

# Positions left free beyond the longest prompt, its text and a draft.
SPARE_POSITIONS = 8


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


@contextmanager
def prepared(
    request: ValidateEngine | MeasureEngine,
) -> Iterator[tuple[Engine, Scorer, Trial]]:
    """Yields a request's engine, the scorer of its texts, and the trial of its pair.

    Files written for the engine are removed afterwards.
    """
    require_one_process("--engine")
    with TemporaryDirectory(prefix="specplan-") as name:
        folder = Path(name)
        pair = folder_pair(request.target, request.drafts, request.text, folder)
        room = request.text.max_new_tokens + request.longest + SPARE_POSITIONS
        positions = max(map(len, pair.prompts)) + room
        models = Models(pair.target, pair.draft, folder, positions)
        kind, settings = request.kind, request.engine
        if settings.target_url is not None and kind.connect is not None:
            engine: Engine = RunningPair(
                kind.connect, settings.target_url, server=request.server, draft=settings.draft_url
            )
        else:
            assert kind.start is not None  # requests name no others
            engine = kind.start(models, settings)
        half = (len(pair.prompts) + 1) // 2
        trial = Trial(
            request=request,
            kind=kind,
            target=pair.target_name,
            draft=pair.draft_name,
            prompts=pair.prompts[:half],
            other_prompts=pair.prompts[half:],
            repeats=request.timing.repeats,
            seconds=request.timing.seconds(request.target),
        )
        here = request.scored_here
        yield engine, LocalScorer(pair.target, pair.draft) if here else EngineScorer(engine), trial
