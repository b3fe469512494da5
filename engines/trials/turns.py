"""Runs a trial on an engine, in turns."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from engines.engine import Engine, EngineServer
from engines.trials.runs import EngineRun, Prompts, run
from engines.trials.timing import precision_percent
from engines.trials.trial import WARM_UP_PROMPTS, Case, Measured, Trial
from estimator.progress import CountedProgress, Progress

# The first seed of warm-up texts, below all others.
WARM_UP = 0


def run_trial(engine: Engine, trial: Trial, *, progress: Progress) -> tuple[Trial, Measured]:
    """Returns the part of a trial for which there was time, and its runs.

    Each γ has its own server. Predicted and timed prompts take turns, and the γ do if their servers
    run together, so a slow period of the machine affects all. The order changes from turn to turn,
    because a text may profit from the previous one on its server.

    If servers run one after the other, the first server's share of the time decides how many
    prompts and repeats all of them run.
    """
    measured = Measured()
    gammas = trial.served_gammas
    groups = [gammas] if trial.request.together else [(gamma,) for gamma in gammas]
    order = np.random.default_rng(trial.request.seed)
    counted = CountedProgress(progress)
    planned = trial.texts
    progress.expect(planned)
    trial = replace(trial, seconds=trial.seconds / len(groups))
    for group in groups:
        with ExitStack() as stack:
            servers = {
                gamma: stack.enter_context(engine.serve(trial.setting(gamma))) for gamma in group
            }
            turns = _Turns(servers, trial, measured, order, counted)
            turns.warm_up()
            reached = turns.run(progress)
        trial = replace(reached, seconds=float("inf"))
    progress.expect(counted.steps - planned)  # turns that were not needed
    return trial, measured


class _Turns:
    """Runs the turns of servers that run together."""

    def __init__(
        self,
        servers: Mapping[int, EngineServer],
        trial: Trial,
        measured: Measured,
        order: np.random.Generator,
        counted: CountedProgress,
    ) -> None:
        self.servers, self.trial, self.measured = servers, trial, measured
        self.order, self.counted = order, counted

    def warm_up(self) -> None:
        """Writes a few texts on each server, and refuses a server with another γ."""
        trial = self.trial
        for gamma, server in self.servers.items():
            self.measured.version = server.version
            for case in trial.cases:
                warm = self._texts(gamma, case, trial.other_prompts[:WARM_UP_PROMPTS], WARM_UP)
                if gamma > 0:
                    warm.require_gamma(gamma, drafts_past_end=trial.kind.drafts_past_end)

    def run(self, progress: Progress) -> Trial:
        """Returns the trial as it was run, until it was precise enough or the time was up.

        A repeat after the first one begins only if there is time for as long as the last one took.
        """
        trial, began, took = self.trial, time.monotonic(), 0.0
        for repeat in range(trial.repeats):
            repeat_began = time.monotonic()
            if repeat > 0 and repeat_began + took > began + trial.seconds:
                return replace(trial, repeats=repeat)
            for case, turn in trial.turns:
                late = time.monotonic() > began + trial.seconds
                if repeat == 0 and turn.start >= trial.least_prompts and late:
                    trial = trial.of_prompts(turn.start)
                    break
                self._turn(repeat, case, turn)
            took = time.monotonic() - repeat_began
            ran = replace(trial, repeats=repeat + 1)
            if trial.request.together and self._precise(ran, progress):
                return ran
        return trial

    def _turn(self, repeat: int, case: Case, turn: slice) -> None:
        cells = self.trial.cells(tuple(self.servers))
        for number in self.order.permutation(len(cells)):
            use, gamma = cells[number]
            prompts = self.trial.prompts_of(use)
            if prompts[turn]:
                first = turn.start + (repeat + 1) * len(prompts)
                own = self._texts(gamma, case, prompts[turn], first)
                self.measured.add(cells[number], case, repeat, own)

    def _precise(self, ran: Trial, progress: Progress) -> bool:
        reached = precision_percent(ran, self.measured)
        if reached is None:
            return False
        progress.note(f"precise to {reached:.1f} %")
        return reached <= ran.request.timing.percent

    def _texts(self, gamma: int, case: Case, prompts: Prompts, first: int) -> EngineRun:
        temperature, concurrency = case
        return run(
            self.servers[gamma],
            prompts,
            speculative=gamma > 0,
            max_new_tokens=self.trial.request.text.max_new_tokens,
            temperature=temperature,
            concurrency=concurrency,
            seed=self.trial.request.seed + first,
            progress=self.counted.step,
        )
