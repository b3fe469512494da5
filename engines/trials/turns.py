"""Runs a trial on an engine; the servers of all γ take turns."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import product

import numpy as np

from engines.engine import Engine, EngineServer
from engines.trials.timing import precision_percent
from engines.trials.trial import Trial
from estimator.progress import CountedProgress, Progress
from estimator.timing.precision import Until
from estimator.timing.rates import LEAST_PROMPTS

WARM_UP_PROMPTS = 2


def run_trial(engine: Engine, trial: Trial, *, progress: Progress) -> Trial:
    """Returns the trial with its completed runs, for as many prompts and repeats as time allowed.

    Each γ has its own server. Predicted and timed prompts take turns. If the servers run together,
    the γ take turns, too. So a slow period of the machine affects all of them. The order changes
    from turn to turn, because a text may profit from the previous text on its server.

    If servers run one after the other, the first server's share of the time decides how many
    prompts and repeats all of them run.
    """
    request, groups, warm = trial.request, trial.sharing, trial.other_prompts[:WARM_UP_PROMPTS]
    seconds = request.timing.seconds(request.target) / len(groups)
    order, counted = np.random.default_rng(request.seed), CountedProgress(progress)
    cells = [cell for group in groups for cell in trial.cells(group)]
    repeated = trial.repeats * sum(len(trial.prompts_of(use)) for use, _ in cells)
    planned = len(trial.cases) * (sum(map(len, groups)) * len(warm) + repeated)
    progress.expect(planned)
    for group in groups:
        with ExitStack() as stack:
            servers = {
                gamma: stack.enter_context(engine.serve(trial.setting(gamma))) for gamma in group
            }
            for (gamma, server), case in product(servers.items(), trial.cases):
                # The first texts of all; a server with another γ is refused.
                own = trial.written(server, gamma, case, warm, first=0, progress=counted.step)
                if gamma > 0:
                    own.require_gamma(gamma, drafts_past_end=trial.kind.drafts_past_end)
            until = Until(percent=request.timing.percent, seconds=seconds, report=progress.note)
            version = next(iter(servers.values())).version
            trial = replace(_in_turns(trial, servers, order, until, counted), version=version)
        seconds = float("inf")
    progress.expect(counted.steps - planned)  # turns that were not needed
    return trial


def _in_turns(
    trial: Trial,
    servers: Mapping[int, EngineServer],
    order: np.random.Generator,
    until: Until,
    counted: CountedProgress,
) -> Trial:
    """Runs the trial until it is precise enough or the time is up; returns the completed part.

    A further repeat begins only if the remaining time is at least the duration of the last repeat.
    """
    took, cells = 0.0, trial.cells(tuple(servers))
    # Number of prompts that always run, even beyond the time limit; several at once run all.
    least = LEAST_PROMPTS if max(trial.concurrencies) == 1 else len(trial.prompts)
    for repeat in range(trial.repeats):
        began = time.monotonic()
        if repeat > 0 and until.late(took):
            return replace(trial, repeats=repeat)
        for case, turn in trial.turns:
            if repeat == 0 and turn.start >= least and until.late():
                kept, other = trial.prompts[: turn.start], trial.other_prompts[: turn.start]
                trial = replace(trial, prompts=kept, other_prompts=other)
                break
            for number in order.permutation(len(cells)):
                use, gamma = cells[number]
                prompts = trial.prompts_of(use)
                first = turn.start + (repeat + 1) * len(prompts)
                if prompts := prompts[turn]:
                    own = trial.written(
                        servers[gamma], gamma, case, prompts, first=first, progress=counted.step
                    )
                    trial.add(case, cells[number], repeat, own)
        took = time.monotonic() - began
        ran = replace(trial, repeats=repeat + 1)
        if trial.request.together and until.precise(precision_percent(ran)):
            return ran
    return trial
