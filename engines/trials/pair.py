"""From a request to its engine, the scorer of its texts, and the trial to run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from engines.engine import Engine
from engines.kind import Models
from engines.servers.running import RunningPair
from engines.trials.request import MeasureEngine, ValidateEngine
from engines.trials.scoring import EngineScorer, LocalScorer, Scorer
from engines.trials.trial import Trial
from estimator.loading.folders import folder_pair
from estimator.timing.processes import require_one_process

# Positions left free beyond the longest prompt, its text and a draft.
SPARE_POSITIONS = 8


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
