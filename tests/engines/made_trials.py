"""Trials with made-up runs: counts, times, and scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.counting import NOTHING, Counts
from engines.engine import Completion, EngineRun
from engines.kind import EngineSettings
from engines.trials.request import ValidateEngine
from engines.trials.trial import Trial
from estimator.settings import PromptSettings, TimingSettings

# A first token, and two blocks of drafts that are all accepted; seconds of a token and of a block.
GAMMA, ALONE, STEP = 3, 2e-3, 5e-3
TOKENS = 1 + 2 * (GAMMA + 1)
ONCE = TimingSettings(repeats=1, precision=0.0)


def made_trial(
    *,
    gamma: int = GAMMA,
    prompts: int,
    tokens: int = TOKENS,
    priced: int | None = None,
    engine: str = "llama.cpp",
    seed: int = 0,
    timing: TimingSettings = ONCE,
    temperatures: tuple[float, ...] = (0.0,),
    **settings: Any,
) -> Trial:
    """Returns a greedy trial at one gamma; `priced`: how many prompts are priced, None: all."""
    ids = tuple((n,) for n in range(prompts))
    request = ValidateEngine(
        engine=EngineSettings(engine, **settings),
        text=PromptSettings(max_new_tokens=tokens),
        timing=timing,
        seed=seed,
        gammas=(gamma,),
        temperatures=temperatures,
    )
    planned = (temperatures, (gamma,), request.priced_gammas)
    return Trial(request, "t", "d", ids, ids[:priced], timing.repeats, *planned)


def made_run(
    trial: Trial, seconds: Sequence[float], *, drafts: bool, at_once: bool = False
) -> EngineRun:
    """Returns a run of texts of zeros with every draft accepted, given the seconds of each text."""
    [gamma], tokens = trial.gammas, trial.request.text.max_new_tokens
    blocks = (tokens - 1) // (gamma + 1)
    each = Counts.of(blocks, blocks * gamma, (blocks,) * gamma) if drafts else NOTHING
    texts = tuple(Completion((0,) * tokens, 1, float(time)) for time in seconds)
    counts = (each,) * len(texts)
    return EngineRun(texts, (sum(counts, NOTHING),) if at_once else counts)


def made_runs(times: NDArray[np.float64], *, at_once: int = 1, **settings: Any) -> Trial:
    """Returns a trial with its runs.

    times: factors of the runs' times, for priced and predicted prompts, each without and with
      drafts, shape (4, repeats, prompts).
    at_once: number of simultaneous requests.
    """
    _, repeats, prompts = times.shape
    timing = TimingSettings(repeats=repeats, precision=0.0)
    trial = made_trial(prompts=prompts, timing=timing, concurrencies=(at_once,), **settings)
    cells = ((use, gamma) for use in ("priced", "rows") for gamma in (0, GAMMA))
    for (use, gamma), rows in zip(cells, times, strict=True):
        whole = 2 * (STEP if gamma else (GAMMA + 1) * ALONE)
        for row in rows:
            seconds = whole * row[: len(trial.prompts_of(use))]
            run = made_run(trial, seconds, drafts=gamma > 0, at_once=at_once > 1)
            every = trial.runs.setdefault((0.0, at_once), {})
            every.setdefault((use, gamma), []).append(run)
    return trial
