"""A trial run on an engine, turn by turn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from engines.engine import Engine, Server
from engines.trials.runs import Prompts, Run, run
from engines.trials.trial import WARM_UP_PROMPTS, Case, Measured, Trial

# Seeds of texts that warm a server up come before all others.
WARM_UP = 0


def run_trial(engine: Engine, trial: Trial, *, progress: Callable[[], object]) -> Measured:
    """Returns runs of an engine, each γ on a server of its own.

    Prompts that are predicted and prompts that are priced take turns, so that a machine that slows
    down slows both; where servers run together, so do the γ. Each turn has another order: a text
    may profit from the one before it on the same server.

    Raises:
      ValueError: if the engine does not start, or drafts at another γ than it is asked to.
    """
    measured = Measured()
    gammas = trial.served_gammas
    order = np.random.default_rng(trial.seed)
    for group in [gammas] if trial.together else [(gamma,) for gamma in gammas]:
        with ExitStack() as stack:
            servers = {
                gamma: stack.enter_context(engine.serve(trial.setting(gamma))) for gamma in group
            }
            for gamma, server in servers.items():
                measured.version = server.version
                for case in trial.cases:
                    warming = trial.other_prompts[:WARM_UP_PROMPTS]
                    warm = _texts(server, trial, gamma, case, warming, WARM_UP, progress)
                    if gamma > 0:
                        warm.require_gamma(gamma, drafts_past_end=trial.kind.drafts_past_end)
            cells = trial.cells(group)
            for repeat, case, turn in trial.all_turns:
                for number in order.permutation(len(cells)):
                    use, gamma = cells[number]
                    prompts = trial.prompts_of(use)
                    if not prompts[turn]:
                        continue
                    first = turn.start + (repeat + 1) * len(prompts)
                    own = _texts(
                        servers[gamma], trial, gamma, case, prompts[turn], first, progress
                    )
                    measured.add(cells[number], case, repeat, own)
    return measured


def _texts(
    server: Server,
    trial: Trial,
    gamma: int,
    case: Case,
    prompts: Prompts,
    first: int,
    progress: Callable[[], object],
) -> Run:
    """Returns a run of prompts, seeds counted from `first` on."""
    temperature, concurrency = case
    return run(
        server,
        prompts,
        speculative=gamma > 0,
        max_new_tokens=trial.max_new_tokens,
        temperature=temperature,
        concurrency=concurrency,
        seed=trial.seed + first,
        progress=progress,
    )
