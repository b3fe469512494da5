"""What each of several things takes, a machine's changing speed divided out.

Steps of one γ take now 1.1 and now 2.0 ms on a machine that others share, for seconds at a time.
Within a turn (`Trial.turns`) every γ runs, and prompts of both kinds; so

    log seconds = level of the cell + speed of the turn + noise

and Tukey's median polish tells the first two apart: outliers move neither (Tukey 1977). How sure
the levels are, a bootstrap over prompts says (Efron 1979): leaving one out in turn, a jackknife, is
inconsistent for medians, which jump from one turn to the next.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engines.kind import EngineKind
from engines.trials.runs import Run
from engines.trials.trial import Case, Kind, Measured, Trial

# By the kind of prompts and γ.
Levels = dict[tuple[Kind, int], float]
Table = dict[tuple[Kind, int], NDArray[np.float64]]
Cell = TypeVar("Cell", bound=Hashable)
SWEEPS = 20
# Of prompts; their spread is then known to 5 %, of which the later sweeps are no part.
RESAMPLES = 200
RESAMPLE_SWEEPS = 5


@dataclass(frozen=True, slots=True)
class Timed:
    """What a target pass takes at one temperature and concurrency, drafting included.

    levels: seconds by kind of prompts and γ.
    drawn: which prompts each resample is made of, or which repeats where prompts ran at once, shape
      (RESAMPLES, n); empty where some cell rests on one of them.
    resampled: the seconds of each resample by kind and γ, shape (RESAMPLES,); NaN where it lacks
      the cell.
    """

    levels: Levels
    drawn: NDArray[np.int64]
    resampled: Table


def levels(seconds: Mapping[Cell, ArrayLike]) -> dict[Cell, float]:
    """Returns the seconds that each cell takes at the turns' median speed.

    Args:
      seconds: of each cell by turn, in any shape that all cells share, above 0; NaN where a turn
        lacks the cell. Every cell has a turn.
    """
    table = np.log([np.ravel(row) for row in seconds.values()])
    return dict(zip(seconds, np.exp(_polished(table, SWEEPS)).tolist(), strict=True))


def _polished(table: NDArray[np.float64], sweeps: int) -> NDArray[np.float64]:
    """Returns each cell's level, shape (..., cells), of tables of shape (..., cells, turns)."""
    left, cells, speeds = table, np.zeros(()), np.zeros(())
    for _ in range(sweeps):
        found = _median(left, axis=-1)
        left, cells = left - found, cells + found
        moved = _median(left, axis=-2)
        left, speeds = left - moved, speeds + moved
    return np.asarray((cells + _median(speeds, axis=-1))[..., 0])


def _median(values: NDArray[np.float64], *, axis: int) -> NDArray[np.float64]:
    """Returns medians of what is no NaN, the axis kept; NaN of nothing else, without a warning."""
    ordered = np.sort(values, axis=axis)
    count = np.sum(~np.isnan(values), axis=axis, keepdims=True)
    middle = (np.maximum(count - 1, 0) // 2, np.minimum(count // 2, values.shape[axis] - 1))
    low, high = (np.take_along_axis(ordered, at, axis=axis) for at in middle)
    return np.asarray((low + high) / 2)


def timed_steps(trial: Trial, measured: Measured, case: Case) -> Timed:
    """Returns what target passes took.

    Servers that ran together share the turns; of others each γ has turns of its own.

    Raises:
      ValueError: if the passes over the prompts gave every text whole.
    """
    table = _table(trial, measured, case)
    for (_, gamma), row in table.items():
        if np.isnan(row).all():
            raise ValueError(
                "max-new-tokens must leave a step after the passes over the prompts, "
                f"got {trial.max_new_tokens} at gamma {gamma}"
            )
    axis = unit_axis(case)
    present = np.array([~np.isnan(row).all(axis=1 - axis) for row in table.values()])
    units = present.shape[1]
    if present.sum(axis=1).min() < 2:
        return Timed(_levels(trial, table), np.zeros((0, units), dtype=np.int64), {})
    drawn = np.random.default_rng(trial.seed).integers(0, units, (RESAMPLES, units))
    resamples = {
        cell: np.moveaxis(np.take(row, drawn, axis=axis), axis, 0).reshape(RESAMPLES, -1)
        for cell, row in table.items()
    }
    return Timed(_levels(trial, table), drawn, _resampled(trial, resamples))


def unit_axis(case: Case) -> int:
    """Returns which axis of (repeats, turns) is drawn anew: prompts, where each is a turn."""
    return 1 if case[1] == 1 else 0


def block_seconds(kind: EngineKind, runs: Sequence[Run]) -> NDArray[np.float64]:
    """Returns the seconds of a target pass, drafting included, shape (repeats, turns of each).

    A turn is a text, or all that ran at once; NaN where the pass over the prompt gave it whole.
    """
    return np.array(
        [
            [
                part.seconds / steps if steps > 0 else np.nan
                for part in one.parts
                for steps in (part.steps(drafts_past_end=kind.drafts_past_end),)
            ]
            for one in runs
        ]
    )


def _table(trial: Trial, measured: Measured, case: Case) -> Table:
    """Returns the seconds of all cells, of one shape: there may be a prompt more of one kind."""
    table = {
        (of, gamma): block_seconds(trial.kind, measured.of(of)[gamma, case])
        for of, gamma in trial.cells(trial.served_gammas)
        if trial.prompts_of(of)
    }
    turns = max(row.shape[1] for row in table.values())
    return {
        cell: np.pad(row, ((0, 0), (0, turns - row.shape[1])), constant_values=np.nan)
        for cell, row in table.items()
    }


def _levels(trial: Trial, table: Table) -> Levels:
    found: Levels = {}
    for cells in _tables(trial):
        found |= levels({cell: table[cell] for cell in cells if cell in table})
    return found


def _resampled(trial: Trial, table: Table) -> Table:
    """Returns the levels of resamples, of tables of shape (resamples, turns)."""
    found: Table = {}
    for cells in _tables(trial):
        rows = [cell for cell in cells if cell in table]
        logs = np.log(np.stack([table[cell] for cell in rows], axis=1))
        found |= dict(zip(rows, np.exp(_polished(logs, RESAMPLE_SWEEPS)).T, strict=True))
    return found


def _tables(trial: Trial) -> list[list[tuple[Kind, int]]]:
    """Returns which cells share their turns: all of them, or those of each γ."""
    cells = trial.cells(trial.served_gammas)
    if trial.together:
        return [cells]
    return [[cell for cell in cells if cell[1] == gamma] for gamma in trial.served_gammas]
