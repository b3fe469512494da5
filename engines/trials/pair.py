"""From a request to an engine with its pair, its prompts, and what scores its texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from engines.engine import Engine
from engines.kind import Models
from engines.servers.running import RunningPair
from engines.trials.request import OnEngine
from engines.trials.runs import Prompts
from engines.trials.scoring import EngineScorer, LocalScorer, Scorer
from engines.trials.trial import Trial
from estimator.loading.folders import folder_pair
from estimator.runs.processes import require_one_process

# Of positions, beyond the longest prompt with its text and a draft.
SPARE_POSITIONS = 8


@dataclass(frozen=True, slots=True)
class EnginePair:
    """An engine with its pair.

    prompts, other_prompts: what is predicted, and what prices are taken from.
    """

    engine: Engine
    score: Scorer
    target: str
    draft: str
    prompts: Prompts
    other_prompts: Prompts

    def trial(
        self,
        request: OnEngine,
        *,
        gammas: tuple[int, ...],
        priced_gammas: tuple[int, ...],
        temperatures: tuple[float, ...],
        synthetic: tuple[float, ...] | None = None,
    ) -> Trial:
        """Returns what a request runs of this pair, at these γ and temperatures."""
        return Trial(
            kind=request.kind,
            target=self.target,
            draft=self.draft,
            prompts=self.prompts,
            other_prompts=self.other_prompts,
            gammas=gammas,
            priced_gammas=priced_gammas,
            temperatures=temperatures,
            concurrencies=tuple(dict.fromkeys(request.engine.concurrencies)),
            draft_sampling=request.draft_sampling,
            max_new_tokens=request.text.max_new_tokens,
            repeats=request.timing.repeats,
            precision_percent=request.timing.percent,
            seconds=request.timing.seconds(request.target),
            seed=request.seed,
            synthetic=synthetic,
            together=request.together,
        )


@contextmanager
def engine_pair(
    request: OnEngine, *, longest: int, server: str | None = None
) -> Iterator[EnginePair]:
    """Gives the engine that a request names; what is written for it is gone afterwards.

    Args:
      request: which engine, models and prompts.
      longest: the longest draft that is asked for.
      server: a running server of the pair; None: there is none.

    Raises:
      ValueError: with the setting's name, rule and value.
    """
    require_one_process("--engine")
    with TemporaryDirectory(prefix="specplan-") as name:
        folder = Path(name)
        pair = folder_pair(request.target, request.drafts, request.text, folder)
        room = request.text.max_new_tokens + longest + SPARE_POSITIONS
        positions = max(map(len, pair.prompts)) + room
        models = Models(pair.target, pair.draft, folder, positions)
        kind, settings = request.kind, request.engine
        if settings.target_url is not None and kind.connect is not None:
            engine: Engine = RunningPair(
                kind.connect, settings.target_url, server=server, draft=settings.draft_url
            )
        else:
            assert kind.start is not None   # requests name no others
            engine = kind.start(models, settings)
        half = (len(pair.prompts) + 1) // 2
        yield EnginePair(
            engine,
            LocalScorer(pair.target, pair.draft) if request.scored_here else EngineScorer(engine),
            pair.target_name,
            pair.draft_name,
            pair.prompts[:half],
            pair.prompts[half:],
        )
