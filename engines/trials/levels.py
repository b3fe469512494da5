"""What each of several things takes, a machine's changing speed divided out.

Steps of one γ take now 1.1 and now 2.0 ms on a machine that others share, for seconds at a time.
Within a turn (`Trial.turns`) every γ runs, and prompts of both kinds; so

    log seconds = level of the cell + speed of the turn + noise

and Tukey's median polish tells the first two apart: outliers move neither (Tukey 1977).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engines.engine import Engine
from engines.trials.runs import Run
from engines.trials.trial import Case, Kind, Measured, Trial

# By the kind of prompts and γ.
Levels = dict[tuple[Kind, int], float]
Table = dict[tuple[Kind, int], NDArray[np.float64]]
Cell = TypeVar("Cell", bound=Hashable)
SWEEPS = 20


@dataclass(frozen=True, slots=True)
class Timed:
    """What a target pass takes at one temperature and concurrency, drafting included.

    levels: seconds by kind of prompts and γ.
    without: the same with each prompt left out in turn, or each repeat where prompts ran at once;
      empty where some cell rests on one of them.
    """

    levels: Levels
    without: tuple[Levels, ...]


def levels(seconds: Mapping[Cell, ArrayLike]) -> dict[Cell, float]:
    """Returns the seconds that each cell takes at the turns' median speed.

    Args:
      seconds: of each cell by turn, in any shape that all cells share, above 0; NaN where a turn
        lacks the cell. Every cell has a turn.
    """
    table = np.log([np.ravel(row) for row in seconds.values()])
    table = table[:, ~np.isnan(table).all(axis=0)]
    cells, speeds = np.zeros((len(table), 1)), np.zeros((1, table.shape[1]))
    for _ in range(SWEEPS):
        for effects, axis in ((cells, 1), (speeds, 0)):
            found = np.nanmedian(table, axis=axis, keepdims=True)
            table -= found
            effects += found
    found = np.exp(cells[:, 0] + np.median(speeds))
    return dict(zip(seconds, found.tolist(), strict=True))


def timed_steps(engine: Engine, trial: Trial, measured: Measured, case: Case) -> Timed:
    """Returns what target passes took.

    Servers that ran together share the turns; of others each γ has turns of its own.

    Raises:
      ValueError: if the passes over the prompts gave every text whole.
    """
    table = _table(engine, trial, measured, case)
    for (_, gamma), row in table.items():
        if np.isnan(row).all():
            raise ValueError(
                "max-new-tokens must leave a step after the passes over the prompts, "
                f"got {trial.max_new_tokens} at gamma {gamma}"
            )
    axis = unit_axis(case)
    units = next(iter(table.values())).shape[axis]
    kept = [
        {cell: np.delete(row, unit, axis) for cell, row in table.items()} for unit in range(units)
    ]
    several = not any(np.isnan(row).all() for rows in kept for row in rows.values())
    return Timed(
        _levels(trial, table), tuple(_levels(trial, rows) for rows in kept) if several else ()
    )


def unit_axis(case: Case) -> int:
    """Returns which axis of (repeats, turns) is left out in turn: prompts, where each is a turn."""
    return 1 if case[1] == 1 else 0


def block_seconds(engine: Engine, runs: Sequence[Run]) -> NDArray[np.float64]:
    """Returns the seconds of a target pass, drafting included, shape (repeats, turns of each).

    A turn is a text, or all that ran at once; NaN where the pass over the prompt gave it whole.
    """
    return np.array(
        [
            [
                part.seconds / steps if steps > 0 else np.nan
                for part in one.parts
                for steps in (part.steps(drafts_past_end=engine.drafts_past_end),)
            ]
            for one in runs
        ]
    )


def _table(engine: Engine, trial: Trial, measured: Measured, case: Case) -> Table:
    """Returns the seconds of all cells, of one shape: there may be a prompt more of one kind."""
    table = {
        (kind, gamma): block_seconds(engine, measured.of(kind)[gamma, case])
        for kind, gamma in trial.cells(trial.served_gammas)
        if trial.prompts_of(kind)
    }
    turns = max(row.shape[1] for row in table.values())
    return {
        cell: np.pad(row, ((0, 0), (0, turns - row.shape[1])), constant_values=np.nan)
        for cell, row in table.items()
    }


def _levels(trial: Trial, table: Table) -> Levels:
    if trial.together:
        return levels(table)
    found: Levels = {}
    for gamma in trial.served_gammas:
        found |= levels({cell: row for cell, row in table.items() if cell[1] == gamma})
    return found
