"""The times of target passes on an engine, with the changing speed of the machine divided out.

Every γ runs in each turn (`Trial.turns`), on prompts of both uses, so `estimator.timing.levels`
separates the time of a pass from the speed of the machine. The error comes from a bootstrap over
prompts (Efron 1979), because the jackknife is inconsistent for medians.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engines.kind import EngineKind
from engines.trials.runs import EngineRun
from engines.trials.steps import Steps
from engines.trials.trial import Case, Cell, Measured, Trial, Use
from estimator.intervals import Interval, ratio, steps_out_of_order, student
from estimator.timing.levels import SWEEPS, levels

# Arrays of one shape, by cell.
Table = dict[Cell, NDArray[np.float64]]
# Number of bootstrap samples, which gives their spread to 5 %; a few sweeps suffice for each.
RESAMPLES = 200
RESAMPLE_SWEEPS = 5


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Times of a target pass with its drafting, at one temperature and concurrency.

    levels: seconds by cell.
    drawn: indices of the prompts in each resample (of the repeats if prompts ran together), shape
      (RESAMPLES, n); empty if a cell has only one.
    resampled: seconds of each resample by cell, shape (RESAMPLES,); NaN if it lacks the cell.
    """

    levels: dict[Cell, float]
    drawn: NDArray[np.int64]
    resampled: Table

    def step_ratio(self, use: Use, shorter: int, longer: int) -> Interval:
        """Returns the interval of the ratio of step times, γ `longer` over γ `shorter`."""
        if len(self.drawn) == 0:
            return None, None
        middle = self.levels[use, longer] / self.levels[use, shorter]
        quotients = self.resampled[use, longer] / self.resampled[use, shorter]
        return resampled_interval(middle, quotients, units=self.drawn.shape[1])

    def shrinking(self, use: Use) -> dict[int, str]:
        """Returns a sentence for each γ whose step is out of order; see `steps_out_of_order`."""
        seconds = {gamma: found for (own, gamma), found in self.levels.items() if own == use}
        drafting = {gamma: found for gamma, found in seconds.items() if gamma > 0}
        return steps_out_of_order(drafting, partial(self.step_ratio, use))

    @property
    def precision_percent(self) -> float | None:
        """Largest half-width, in per cent, of the intervals of step times over a baseline step.

        The error of acceptance is not included. None without resamples.
        """
        found = [
            self.step_ratio(use, 0, gamma)
            for use, gamma in self.levels
            if gamma > 0 and (use, 0) in self.levels
        ]
        known = [high / low for low, high in found if low is not None and high is not None]
        return 100 * (math.sqrt(max(known)) - 1) if known else None

    def steps(self, gammas: Sequence[int]) -> Steps:
        """Returns the step times at these γ, on the timed prompts."""
        return Steps(
            self.levels["priced", 0], {gamma: self.levels["priced", gamma] for gamma in gammas}
        )


def resampled_interval(value: float, resampled: NDArray[np.float64], *, units: int) -> Interval:
    """Returns the interval of a ratio from its resamples, symmetric in the logarithm.

    Percentiles are too narrow over few units, so Student's t and n - 1 in place of n are used.

    Args:
      resampled: the ratio in each resample; NaN, 0 and infinite ratios are left out.
      units: number of prompts or repeats that were resampled.
    """
    logs = np.log(resampled[(resampled > 0) & (resampled < np.inf)])
    error = float(logs.std()) * math.sqrt(units / (units - 1))
    return ratio(value, error * value, student(units - 1))


def timed_steps(trial: Trial, measured: Measured, case: Case) -> PassTimes:
    """Returns the times of target passes in a case.

    Servers that ran together share the speeds of turns; otherwise each γ has speeds of its own.

    Raises ValueError if no text has a step after the pass over its prompt.
    """
    table = _table(trial, measured, case)
    for (_, gamma), row in table.items():
        if np.isnan(row).all():
            raise ValueError(
                "max-new-tokens must leave a step after the passes over the prompts, "
                f"got {trial.request.text.max_new_tokens} at gamma {gamma}"
            )
    whole = {cell: row.ravel() for cell, row in table.items()}
    found = {cell: float(level) for cell, level in _levels(trial, whole, SWEEPS).items()}
    axis = unit_axis(case)
    present = np.array([~np.isnan(row).all(axis=1 - axis) for row in table.values()])
    units = present.shape[1]
    if present.sum(axis=1).min() < 2:
        return PassTimes(found, np.zeros((0, units), dtype=np.int64), {})
    drawn = np.random.default_rng(trial.request.seed).integers(0, units, (RESAMPLES, units))
    resamples = {
        cell: np.moveaxis(np.take(row, drawn, axis=axis), axis, 0).reshape(RESAMPLES, -1)
        for cell, row in table.items()
    }
    return PassTimes(found, drawn, _levels(trial, resamples, RESAMPLE_SWEEPS))


def precision_percent(trial: Trial, measured: Measured) -> float | None:
    """Returns the precision of a trial's least precise case, per cent; None if one is unknown."""
    every = [timed_steps(trial, measured, case).precision_percent for case in trial.cases]
    known = [percent for percent in every if percent is not None]
    return max(known) if len(known) == len(every) else None


def unit_axis(case: Case) -> int:
    """Returns the axis of (repeats, turns) to resample: turns of one prompt each, else repeats."""
    return 1 if case[1] == 1 else 0


def block_seconds(kind: EngineKind, runs: Sequence[EngineRun]) -> NDArray[np.float64]:
    """Returns the mean seconds of a target pass with its drafting, shape (repeats, turns).

    A turn is one text, or all texts that ran together; NaN if it had no step.
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
    """Returns the seconds of all cells, padded with NaN where one use has a prompt fewer."""
    table = {
        (use, gamma): block_seconds(trial.kind, measured.of(use)[gamma, case])
        for use, gamma in trial.cells(trial.served_gammas)
        if trial.prompts_of(use)
    }
    turns = max(row.shape[1] for row in table.values())
    return {
        cell: np.pad(row, ((0, 0), (0, turns - row.shape[1])), constant_values=np.nan)
        for cell, row in table.items()
    }


def _levels(trial: Trial, table: Table, sweeps: int) -> Table:
    """Returns the levels of cells, shape (...), from their seconds by turn, shape (..., turns)."""
    cells = trial.cells(trial.served_gammas)
    sharing = (
        [cells]
        if trial.request.together
        else [[cell for cell in cells if cell[1] == gamma] for gamma in trial.served_gammas]
    )
    found: Table = {}
    for group in sharing:
        rows = [cell for cell in group if cell in table]
        seconds = np.stack([table[cell] for cell in rows], axis=-2)
        found |= dict(zip(rows, np.moveaxis(levels(seconds, sweeps=sweeps), -1, 0), strict=True))
    return found


def speed_up_interval(
    speed_up: float,
    kind: EngineKind,
    timed: PassTimes,
    own: Sequence[EngineRun],
    gamma: int,
    case: Case,
) -> Interval:
    """Returns the interval of a measured speed-up; (None, None) without resamples."""
    if len(timed.drawn) == 0:
        return None, None
    counts = np.array(
        [
            [(part.steps(drafts_past_end=kind.drafts_past_end), part.decoded) for part in one.parts]
            for one in own
        ]
    ).sum(axis=1 - unit_axis(case))
    units = len(counts)
    # The timed prompts may be one more.
    more = timed.drawn.shape[1] - units
    calls, tokens = np.pad(counts, ((0, more), (0, 0)))[timed.drawn].sum(axis=1).T
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = timed.resampled["rows", 0] * tokens / (timed.resampled["rows", gamma] * calls)
    return resampled_interval(speed_up, quotients, units=units)
