"""From a request to an engine with its pair, its prompts, and what scores its texts."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from engines.engine import Engine
from engines.kind import Models
from engines.servers.running import RunningPair
from engines.trials.request import OnEngine
from engines.trials.scoring import EngineScorer, LocalScorer, Scorer
from engines.trials.trial import Trial
from estimator.loading.folders import folder_pair
from estimator.timing.processes import require_one_process

# Positions beyond the longest prompt with its text and a draft.
SPARE_POSITIONS = 8


@contextmanager
def prepared(
    request: OnEngine,
    *,
    longest: int,
    gammas: tuple[int, ...],
    priced_gammas: tuple[int, ...],
    temperatures: tuple[float, ...],
    server: str | None = None,
    synthetic: tuple[float, ...] | None = None,
) -> Iterator[tuple[Engine, Scorer, Trial]]:
    """Gives the engine that a request names, what scores its texts, and the trial of its pair.

    Files written for the engine are removed afterwards.

    Args:
      request: which engine, models and prompts.
      longest: the longest draft that a run requests.
      gammas, priced_gammas, temperatures, synthetic: as the trial has them.
      server: a running server of the pair; None: there is none.
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
            assert kind.start is not None  # requests name no others
            engine = kind.start(models, settings)
        here = request.scored_here
        half = (len(pair.prompts) + 1) // 2
        trial = Trial(
            kind=kind,
            target=pair.target_name,
            draft=pair.draft_name,
            prompts=pair.prompts[:half],
            other_prompts=pair.prompts[half:],
            gammas=gammas,
            priced_gammas=priced_gammas,
            temperatures=temperatures,
            concurrencies=tuple(dict.fromkeys(settings.concurrencies)),
            draft_sampling=request.draft_sampling,
            max_new_tokens=request.text.max_new_tokens,
            repeats=request.timing.repeats,
            precision_percent=request.timing.percent,
            seconds=request.timing.seconds(request.target),
            seed=request.seed,
            synthetic=synthetic,
            together=request.together,
        )
        scorer = LocalScorer(pair.target, pair.draft) if here else EngineScorer(engine)
        yield engine, scorer, trial
