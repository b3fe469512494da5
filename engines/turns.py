"""Runs of prompts on several servers, which take turns; see `estimator.timing.precision.Timing`."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product
from typing import TypeVar

import numpy as np

from engines.engine import Case, EngineRun, Prompts
from estimator.timing.precision import Timing
from estimator.timing.rates import LEAST_PROMPTS

# `engines.engine.run` of a server: prompts, a case and a seed are missing.
Write = Callable[..., EngineRun]
Arm = TypeVar("Arm", bound=Hashable)
Runs = dict[Case, dict[Arm, list[EngineRun]]]
"""Completed runs by case, arm and repeat."""


def run_in_turns(
    arms: Mapping[Arm, tuple[Write, Prompts]],
    cases: Sequence[Case],
    timing: Timing,
    *,
    order: np.random.Generator,
    exact: Callable[[Runs[Arm]], bool],
) -> Runs[Arm]:
    """Returns the runs of every arm's prompts, for as many prompts and repeats as time allowed.

    In a turn each arm writes the text of one prompt, or, with simultaneous requests, of all its
    prompts. So a slow period of the machine affects all arms. Their order is random, because a text
    may profit from the previous text on its server. The same prompt has the same seed at every arm.

    arms: by a name of any type, the function that runs prompts on a server, and the prompts.
    exact: called after each repeat with the runs so far; returns whether they are exact enough.
    """
    runs: Runs[Arm] = {case: {arm: [] for arm in arms} for case in cases}
    count = max(len(prompts) for _, prompts in arms.values())
    # Simultaneous requests run all prompts, even beyond the time limit.
    least = LEAST_PROMPTS if max(at_once for _, at_once in cases) == 1 else count
    every = timing.turns(range(count), list(arms), order, exact=lambda: exact(runs), least=least)
    for repeat, start, shuffled in every:
        for case, arm in product(cases, shuffled):
            write, prompts = arms[arm]
            size = 1 if case[1] == 1 else count
            some = prompts[start : start + size]
            if some and start % size == 0:
                seed = timing.seed + start + (repeat + 1) * len(prompts)
                written = write(some, case, seed, progress=timing.progress)
                done = runs[case][arm]
                done[repeat:] = [done[repeat] + written if repeat < len(done) else written]
    return runs
