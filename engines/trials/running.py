"""Prepares the trial of a request, and runs it on an engine: the servers of all γ take turns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from engines.engine import Engine, EngineServer, Setting, run
from engines.servers.process import healthy
from engines.text_scores import Scorer, engine_scorer, local_scorer
from engines.trials.request import OnEngine
from engines.trials.timing import precision_percent
from engines.trials.trial import Cell, Trial
from engines.turns import Runs, run_in_turns
from estimator.progress import Progress, counted
from estimator.timing.precision import Timing
from estimator.timing.threads import require_one_process

WARM_UP_PROMPTS = 2


@contextmanager
def completed(
    request: OnEngine,
    progress: Progress,
    gammas: Sequence[int],
    priced: Sequence[int],
    temperatures: Sequence[float],
    synthetic: tuple[float, ...] | None = None,
    *,
    server: str | None = None,
) -> Iterator[tuple[Engine, Scorer, Trial]]:
    """Runs a trial; yields the engine, the function that scores texts, and the trial.

    server: URL of a running server of the pair; None: one is started for each γ. For the other
      arguments see `Trial`.
    """
    require_one_process("--engine")
    kind, settings = request.kind, request.engine
    running = None
    if settings.target_url is not None and kind.connect is not None:
        running = RunningPair(kind.connect, settings.target_url, server, settings.draft_url)
    with request.ready(max((*gammas, *priced), default=0), running) as (pair, engine):
        half = (len(pair.prompts) + 1) // 2
        trial = Trial(
            request,
            target=pair.target_name,
            draft=pair.draft_name,
            prompts=pair.prompts[:half],
            other_prompts=pair.prompts[half:],
            repeats=request.timing.repeats,
            temperatures=temperatures,
            gammas=gammas,
            priced=priced,
            synthetic=synthetic,
        )
        by_engine = kind.scores_texts or pair.scored_by_engine
        if settings.laws is not None:
            by_engine = settings.laws == "engine"
        scorer = engine_scorer(engine) if by_engine else local_scorer(pair.target, pair.draft)
        yield engine, scorer, run_trial(engine, trial, progress=progress)


@dataclass(frozen=True, slots=True)
class RunningPair:
    """Servers that already run a pair, all of one kind of engine; specplan does not stop them.

    target: URL of a server of the target without speculation.
    server: URL of a server of the target with its draft, at a fixed γ.
    draft: URL of a server of the draft.
    """

    connect: Callable[[str], EngineServer]
    target: str
    server: str | None
    draft: str | None

    # Only the servers' owner knows their settings.
    flags = ()

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[EngineServer]:
        """Yields the server for a setting; refuses a missing URL, and one that does not answer.

        `server` must serve the model of `target-url`, and `draft-url` another model.
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


def run_trial(engine: Engine, trial: Trial, *, progress: Progress) -> Trial:
    """Returns the trial with its completed runs, for as many prompts and repeats as time allowed.

    Each γ has its own server. Predicted and timed prompts take turns, and so do the γ if their
    servers run together. If servers run one after the other, the time limit applies to the first;
    the others run as many prompts and repeats.
    """
    request, groups, warm = trial.request, trial.sharing, trial.other_prompts[:WARM_UP_PROMPTS]
    seconds = request.timing.seconds(request.target) / len(groups)
    order, percent = np.random.default_rng(request.seed), request.timing.percent
    tokens = request.text.max_new_tokens
    cells = [cell for group in groups for cell in trial.cells(group)]
    repeated = trial.repeats * sum(len(trial.prompts_of(use)) for use, _ in cells)
    texts = len(trial.cases) * (sum(map(len, groups)) * len(warm) + repeated)
    progress.expect(texts)
    with counted(progress, texts) as step:
        for group in groups:
            with ExitStack() as stack:
                servers = {g: stack.enter_context(engine.serve(trial.setting(g))) for g in group}
                writes = {
                    g: partial(run, server, speculative=g > 0, max_new_tokens=tokens)
                    for g, server in servers.items()
                }
                for gamma, case in product(group, trial.cases):
                    # The first texts of all; a server with another γ is refused.
                    warmed = writes[gamma](warm, case, request.seed, progress=step)
                    if not warmed.obeys(gamma, drafts_past_end=trial.kind.drafts_past_end):
                        raise ValueError(
                            "gamma must be what the server drafts, "
                            f"{warmed.total.mean_drafted:.1f} tokens a block, got {gamma}"
                        )
                timing = Timing(trial.repeats, request.seed, step, percent, seconds, progress.note)
                runs = run_in_turns(
                    {(use, g): (writes[g], trial.prompts_of(use)) for use, g in trial.cells(group)},
                    trial.cases,
                    timing,
                    order=order,
                    exact=partial(_exact, trial, timing),
                )
                trial = replace(trial.ran(runs), version=servers[group[0]].version)
            seconds = float("inf")
    return trial


def _exact(trial: Trial, timing: Timing, runs: Runs[Cell]) -> bool:
    return trial.request.together and timing.precise(precision_percent(trial.ran(runs)))
