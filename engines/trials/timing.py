"""The times of target passes on an engine, the machine's changing speed divided out.

Within a turn (`Trial.turns`) every γ runs, and prompts of both kinds, so that
`estimator.timing.levels` separates the time of a pass from the speed of the machine. A bootstrap
over prompts gives its error (Efron 1979): leaving one out in turn, a jackknife, is inconsistent for
medians, which jump from one turn to the next.
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

# By cell; each value is of one shape for all cells.
Table = dict[Cell, NDArray[np.float64]]
# Bootstrap samples of prompts: their spread is then known to 5 %, without the later sweeps.
RESAMPLES = 200
RESAMPLE_SWEEPS = 5


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Times of a target pass at one temperature and concurrency, drafting included.

    levels: seconds by cell.
    drawn: which prompts each resample is made of, or which repeats where prompts ran at once, shape
      (RESAMPLES, n); empty where some cell rests on one of them.
    resampled: the seconds of each resample by cell, shape (RESAMPLES,); NaN where it lacks the
      cell.
    """

    levels: dict[Cell, float]
    drawn: NDArray[np.int64]
    resampled: Table

    def step_ratio(self, use: Use, shorter: int, longer: int) -> Interval:
        """Returns the interval of a step's time at γ `longer` over its time at γ `shorter`.

        (None, None) where there is nothing to draw from.
        """
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
        """Largest error, in percent, of 95 % of step times relative to a baseline step.

        The error of acceptance is not included. None where nothing can be drawn from.
        """
        found = [
            self.step_ratio(use, 0, gamma)
            for use, gamma in self.levels
            if gamma > 0 and (use, 0) in self.levels
        ]
        known = [high / low for low, high in found if low is not None and high is not None]
        return 100 * (math.sqrt(max(known)) - 1) if known else None

    def steps(self, gammas: Sequence[int]) -> Steps:
        """Returns what steps cost at these γ, on the prompts that prices are taken from."""
        return Steps(
            self.levels["priced", 0], {gamma: self.levels["priced", gamma] for gamma in gammas}
        )


def resampled_interval(value: float, resampled: NDArray[np.float64], *, units: int) -> Interval:
    """Returns the 95 % interval of a ratio from resamples of it, symmetric in its logarithm.

    Percentiles are too narrow over few units; Student's t on the standard error, and n - 1 in place
    of n, allow for how few they are.

    Args:
      resampled: the same of each resample; what is NaN, 0 or infinite is left out.
    """
    logs = np.log(resampled[(resampled > 0) & (resampled < np.inf)])
    error = float(logs.std()) * math.sqrt(units / (units - 1))
    return ratio(value, error * value, student(units - 1))


def timed_steps(trial: Trial, measured: Measured, case: Case) -> PassTimes:
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
    whole = {cell: row.ravel() for cell, row in table.items()}
    found = {cell: float(level) for cell, level in _levels(trial, whole, SWEEPS).items()}
    axis = unit_axis(case)
    present = np.array([~np.isnan(row).all(axis=1 - axis) for row in table.values()])
    units = present.shape[1]
    if present.sum(axis=1).min() < 2:
        return PassTimes(found, np.zeros((0, units), dtype=np.int64), {})
    drawn = np.random.default_rng(trial.seed).integers(0, units, (RESAMPLES, units))
    resamples = {
        cell: np.moveaxis(np.take(row, drawn, axis=axis), axis, 0).reshape(RESAMPLES, -1)
        for cell, row in table.items()
    }
    return PassTimes(found, drawn, _levels(trial, resamples, RESAMPLE_SWEEPS))


def precision_percent(trial: Trial, measured: Measured) -> float | None:
    """Returns how precise the runs of a trial are, in the least precise case; None: not known."""
    every = [timed_steps(trial, measured, case).precision_percent for case in trial.cases]
    known = [percent for percent in every if percent is not None]
    return max(known) if len(known) == len(every) else None


def unit_axis(case: Case) -> int:
    """Returns the axis of (repeats, turns) to resample: the prompts if each has its own turn."""
    return 1 if case[1] == 1 else 0


def block_seconds(kind: EngineKind, runs: Sequence[EngineRun]) -> NDArray[np.float64]:
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
    """Returns the levels of cells, shape (...), from their seconds by turn, (..., turns)."""
    cells = trial.cells(trial.served_gammas)
    sharing = (
        [cells]
        if trial.together
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
    """Returns the 95 % interval of a measured speed-up, symmetric in its logarithm.

    Returns:
      (None, None) where there is nothing to draw from.
    """
    if len(timed.drawn) == 0:
        return None, None
    counts = np.array(
        [
            [(part.steps(drafts_past_end=kind.drafts_past_end), part.decoded) for part in one.parts]
            for one in own
        ]
    ).sum(axis=1 - unit_axis(case))
    units = len(counts)
    # There may be more prompts that were priced.
    more = timed.drawn.shape[1] - units
    calls, tokens = np.pad(counts, ((0, more), (0, 0)))[timed.drawn].sum(axis=1).T
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = timed.resampled["rows", 0] * tokens / (timed.resampled["rows", gamma] * calls)
    return resampled_interval(speed_up, quotients, units=units)
