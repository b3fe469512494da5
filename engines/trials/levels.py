"""What each of several things takes, a machine's changing speed divided out.

Steps of one γ take now 1.1 and now 2.0 ms on a machine that others share, for seconds at a time.
Within a turn (`Trial.turns`) every γ runs, and prompts of both kinds; so

    log seconds = level of the cell + speed of the turn + noise

and Tukey's median polish tells the first two apart: outliers move neither (Tukey 1977).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, TypeVar

import numpy as np

from engines.engine import Engine
from engines.trials.runs import Run
from engines.trials.trial import Case, Measured, Trial

Kind = Literal["priced", "rows"]
# By the kind of prompts and γ.
Levels = dict[tuple[Kind, int], float]
Cell = TypeVar("Cell", bound=Hashable)
SWEEPS = 20


def levels(seconds: Mapping[Cell, Sequence[float]]) -> dict[Cell, float]:
    """Returns the seconds that each cell takes at the turns' median speed.

    Args:
      seconds: of each cell, in the order of the turns, at least one and above 0; turns beyond the
        shortest are left out.
    """
    turns = min(len(row) for row in seconds.values())
    table = np.log([list(row)[:turns] for row in seconds.values()])
    cells, speeds = np.zeros((len(seconds), 1)), np.zeros((1, turns))
    for _ in range(SWEEPS):
        for effects, axis in ((cells, 1), (speeds, 0)):
            found = np.median(table, axis=axis, keepdims=True)
            table -= found
            effects += found
    found = np.exp(cells[:, 0] + np.median(speeds))
    return dict(zip(seconds, found.tolist(), strict=True))


def step_levels(engine: Engine, trial: Trial, measured: Measured, case: Case) -> Levels:
    """Returns the seconds of a target pass by kind of prompts and γ, drafting included.

    Servers that ran together share the turns; of others each γ has turns of its own.
    """
    kinds: dict[Kind, dict[tuple[int, Case], list[Run]]] = {
        "priced": measured.priced,
        "rows": measured.rows,
    }
    timed = {
        (kind, gamma): block_seconds(engine, runs[gamma, case])
        for kind, runs in kinds.items()
        for gamma in trial.served_gammas
        if (gamma, case) in runs
    }
    if trial.together:
        return levels(timed)
    found: Levels = {}
    for gamma in trial.served_gammas:
        found |= levels({cell: row for cell, row in timed.items() if cell[1] == gamma})
    return found


def block_seconds(engine: Engine, runs: Sequence[Run]) -> list[float]:
    """Returns the seconds of a target pass, drafting included, of each text, turn by turn.

    Texts that ran at once are one; those that the pass over the prompt gave whole are left out.
    """
    parts = [part for one in runs for part in one.parts]
    steps = [part.steps(drafts_past_end=engine.drafts_past_end) for part in parts]
    return [part.seconds / count for part, count in zip(parts, steps, strict=True) if count > 0]
