"""From a request to its engine, the scorer of its texts, and the trial to run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from engines.engine import Engine, EngineRun, EngineServer, Setting
from engines.kind import Models
from engines.servers.process import healthy
from engines.text_scores import Scorer, Text, engine_scorer, local_scorer
from engines.trials.request import MeasureEngine, ValidateEngine
from engines.trials.trial import Trial
from estimator.loading.folders import folder_pair
from estimator.timing.threads import require_one_process

# Positions left free beyond the longest prompt, its text and a draft.
SPARE_POSITIONS = 8


@contextmanager
def prepared(request: ValidateEngine | MeasureEngine) -> Iterator[tuple[Engine, Scorer, Trial]]:
    """Yields a request's engine, the function that scores its texts, and the trial to run.

    Files written for the engine are removed afterwards.
    """
    require_one_process("--engine")
    with TemporaryDirectory(prefix="specplan-") as name:
        folder = Path(name)
        pair = folder_pair(request.target, request.drafts, request.text, folder)
        room = request.text.max_new_tokens + request.longest + SPARE_POSITIONS
        models = Models(pair.target, pair.draft, folder, max(map(len, pair.prompts)) + room)
        kind, settings = request.kind, request.engine
        if settings.target_url is not None and kind.connect is not None:
            urls = (settings.target_url, request.server, settings.draft_url)
            engine: Engine = RunningPair(kind.connect, *urls)
        else:
            assert kind.start is not None  # requests name no others
            engine = kind.start(models, settings)
        half = (len(pair.prompts) + 1) // 2
        trial = Trial(
            request=request,
            target=pair.target_name,
            draft=pair.draft_name,
            prompts=pair.prompts[:half],
            other_prompts=pair.prompts[half:],
            repeats=request.timing.repeats,
        )
        local = settings.laws == "local" or not kind.scores_texts
        scorer = local_scorer(pair.target, pair.draft) if local else engine_scorer(engine)
        yield engine, scorer, trial


def texts_of(trial: Trial, own: EngineRun) -> list[Text]:
    """Returns each predicted prompt together with the text that a run wrote for it."""
    texts = (text.tokens for text in own.completions)
    return list(zip(trial.prompts, texts, strict=True))


@dataclass(frozen=True, slots=True)
class RunningPair:
    """The running servers of a pair, all of one kind of engine. Others start and stop them.

    connect: connects to a server; see `engines.kind.EngineKind`.
    target: URL of a server of the target without speculation.
    server: URL of a server of the target with its draft, at a fixed γ; None: not given.
    draft: URL of a server of the draft; None: not given.
    """

    connect: Callable[[str], EngineServer]
    target: str
    server: str | None
    draft: str | None

    # Only the servers' owner knows their settings.
    flags = ()

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[EngineServer]:
        """Yields the server for a setting; see `engines.engine.Engine`.

        Refuses a missing URL, and a URL at which no server answers. `server` and `target-url` must
        serve one model, `draft-url` and `target-url` two different models.
        """
        if setting.gamma > 0:
            option, url = "server", self.server
        elif setting.model == "draft":
            option, url = "draft-url", self.draft
        else:
            option, url = "target-url", self.target
        if url is None:
            raise ValueError(f"{option} must be given, got none")
        if not healthy(url.rstrip("/").removesuffix("/v1")):
            raise ValueError(f"no server answers at {url} ({option})")
        server = self.connect(url)
        target = server.model if option == "target-url" else self.connect(self.target).model
        if option == "server" and server.model != target:
            raise ValueError(
                f"server and target-url must serve one model, got {server.model} and {target}"
            )
        if option == "draft-url" and target is not None and server.model == target:
            raise ValueError(
                f"draft-url must serve another model than target-url, got {target} at both"
            )
        yield server
