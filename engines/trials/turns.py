"""Prepares the trial of a request, and runs it on an engine: the servers of all γ take turns."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from engines.engine import Engine, EngineRun, EngineServer, Setting, run
from engines.servers.process import healthy
from engines.text_scores import Scorer, engine_scorer, local_scorer
from engines.trials.request import MeasureEngine, ValidateEngine
from engines.trials.timing import precision_percent
from engines.trials.trial import Trial
from estimator.progress import CountedProgress, Progress
from estimator.timing.precision import Until
from estimator.timing.rates import LEAST_PROMPTS
from estimator.timing.threads import require_one_process

WARM_UP_PROMPTS = 2


@contextmanager
def completed(
    request: ValidateEngine | MeasureEngine, progress: Progress
) -> Iterator[tuple[Engine, Scorer, Trial]]:
    """Runs the trial of a request; yields the engine, the function that scores texts, the trial."""
    require_one_process("--engine")
    with TemporaryDirectory(prefix="specplan-") as name:
        folder = Path(name)
        pair = request.pair(folder)
        kind, settings = request.kind, request.engine
        if settings.target_url is not None and kind.connect is not None:
            urls = (settings.target_url, request.server, settings.draft_url)
            engine: Engine = RunningPair(kind.connect, *urls)
        else:
            tokens = request.text.max_new_tokens + request.longest
            engine = request.started(pair.target, pair.draft, folder, pair.prompts, tokens)
        half = (len(pair.prompts) + 1) // 2
        trial = Trial(
            request=request,
            target=pair.target_name,
            draft=pair.draft_name,
            prompts=pair.prompts[:half],
            other_prompts=pair.prompts[half:],
            repeats=request.timing.repeats,
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
    servers run together, so that a slow period of the machine affects all of them. Their order is
    random, because a text may profit from the previous text on its server. If servers run one after
    the other, the time limit applies to the first; the others run as many prompts and repeats.
    """
    request, groups, warm = trial.request, trial.sharing, trial.other_prompts[:WARM_UP_PROMPTS]
    rates, most = request.synthetic, max(request.engine.concurrencies)
    seconds = request.timing.seconds(request.target) / len(groups)
    order, counted = np.random.default_rng(request.seed), CountedProgress(progress)
    write = partial(run, max_new_tokens=request.text.max_new_tokens, progress=counted.step)
    cells = [cell for group in groups for cell in trial.cells(group)]
    repeated = trial.repeats * sum(len(trial.prompts_of(use)) for use, _ in cells)
    planned = len(trial.cases) * (sum(map(len, groups)) * len(warm) + repeated)
    progress.expect(planned)
    for group in groups:
        with ExitStack() as stack:
            servers = {}
            for gamma in group:
                simulated = None if rates is None or gamma == 0 else rates[:gamma]
                setting = Setting(gamma, request.draft_sampling, most, synthetic=simulated)
                servers[gamma] = stack.enter_context(engine.serve(setting))
            for (gamma, server), case in product(servers.items(), trial.cases):
                # The first texts of all; a server with another γ is refused.
                own = write(server, warm, case, speculative=gamma > 0, seed=request.seed)
                if gamma > 0:
                    own.require_gamma(gamma, drafts_past_end=trial.kind.drafts_past_end)
            until = Until(percent=request.timing.percent, seconds=seconds, report=progress.note)
            version = servers[group[0]].version
            trial = replace(_in_turns(trial, servers, order, until, write), version=version)
        seconds = float("inf")
    progress.expect(counted.steps - planned)  # turns that were not needed
    return trial


def _in_turns(
    trial: Trial,
    servers: Mapping[int, EngineServer],
    order: np.random.Generator,
    until: Until,
    write: Callable[..., EngineRun],
) -> Trial:
    """Runs the trial until it is precise enough or the time is up; returns the completed part.

    A further repeat begins only if the remaining time is at least the duration of the last repeat.
    """
    took, cells = 0.0, trial.cells(tuple(servers))
    # Number of prompts that always run, even beyond the time limit; several at once run all.
    least = LEAST_PROMPTS if max(c for _, c in trial.cases) == 1 else len(trial.prompts)
    for repeat in range(trial.repeats):
        began = time.monotonic()
        if repeat > 0 and until.late(took):
            return replace(trial, repeats=repeat)
        for case, turn in trial.turns():
            if repeat == 0 and turn.start >= least and until.late():
                kept, other = trial.prompts[: turn.start], trial.other_prompts[: turn.start]
                trial = replace(trial, prompts=kept, other_prompts=other)
                break
            for number in order.permutation(len(cells)):
                use, gamma = cells[number]
                every = trial.prompts_of(use)
                seed = trial.request.seed + turn.start + (repeat + 1) * len(every)
                if some := every[turn]:
                    own = write(servers[gamma], some, case, speculative=gamma > 0, seed=seed)
                    trial.add(case, cells[number], repeat, own)
        took = time.monotonic() - began
        ran = replace(trial, repeats=repeat + 1)
        if trial.request.together and until.precise(precision_percent(ran)):
            return ran
    return trial
