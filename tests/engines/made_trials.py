"""Trials with made-up runs: counts, times, and scores."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engines.counting import NOTHING, Counts
from engines.engine import Completion
from engines.kind import EngineKind, EngineSettings
from engines.trials.request import ValidateEngine
from engines.trials.runs import EngineRun
from engines.trials.trial import Measured, Trial
from estimator.settings import PromptSettings, TimingSettings

ENGINE = EngineKind(name="made", title="made")


def made_trial(
    *,
    gamma: int,
    prompts: int,
    tokens: int,
    repeats: int,
    concurrencies: tuple[int, ...] = (1,),
    priced: int | None = None,
    kind: EngineKind = ENGINE,
    seed: int = 0,
    servers: Literal["together", "in-turn"] = "together",
    precision: float | None = 0.0,
) -> Trial:
    """Returns a greedy trial at one gamma; `priced`: how many prompts are priced, None: all."""
    ids = tuple((n,) for n in range(prompts))
    request = ValidateEngine(
        engine=EngineSettings("llama.cpp", concurrencies=concurrencies, servers=servers),
        text=PromptSettings(max_new_tokens=tokens),
        timing=TimingSettings(repeats=repeats, precision=precision),
        seed=seed,
        gammas=(gamma,),
        temperatures=(0.0,),
    )
    return Trial(request, kind, "t", "d", ids, ids[:priced], repeats)


def made_run(
    trial: Trial, seconds: Sequence[float], *, drafts: bool, at_once: bool = False
) -> EngineRun:
    """Returns a run of texts of zeros with every draft accepted, given the seconds of each text."""
    [gamma], tokens = trial.gammas, trial.request.text.max_new_tokens
    blocks = (tokens - 1) // (gamma + 1)
    each = Counts.of(blocks, blocks * gamma, (blocks,) * gamma) if drafts else NOTHING
    texts = tuple(Completion((0,) * tokens, 1, float(time)) for time in seconds)
    return EngineRun(
        texts, (sum([each] * len(texts), NOTHING),) if at_once else (each,) * len(texts)
    )


def made_measured(
    trial: Trial, times: NDArray[np.float64], *, plain: float, step: float
) -> Measured:
    """Returns the runs of a trial.

    Args:
      times: factors of the runs' times, for priced and predicted prompts, each without and with
        drafts, shape (4, repeats, prompts).
      plain, step: seconds of a token of the target, and of a step with drafts.
    """
    [gamma], [case] = trial.gammas, trial.cases
    tokens = trial.request.text.max_new_tokens
    measured = Measured("1")
    cells = ((use, drafted) for use in ("priced", "rows") for drafted in (0, gamma))
    for (use, drafted), rows in zip(cells, times, strict=True):
        whole = (tokens - 1) * (step / (gamma + 1) if drafted else plain)
        prompts = len(trial.prompts_of(use))
        measured.of(use)[drafted, case] = [
            made_run(trial, whole * row[:prompts], drafts=drafted > 0, at_once=case[1] > 1)
            for row in rows
        ]
    return measured
