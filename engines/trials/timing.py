"""The times of target passes on an engine, with the changing speed of the machine divided out.

Every γ runs in each turn (`Trial.turns`), so `estimator.timing.precision` separates the time of a
pass from the speed of the machine. Errors come from a bootstrap over prompts (Efron 1979), because
the jackknife is inconsistent for medians.

An engine reports the time of a step, but not the share of drafting. So a line s(γ) = s₀ + k γ is
drawn through the smallest and the largest γ. Its slope k replaces the draft step of other cost
models, and includes the verification of one more token. If the line misses a third γ between them
by more than LINE_TOLERANCE, the line gets a corner there.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engines.engine import Case
from engines.trials.trial import Cell, Trial, Use
from estimator.intervals import Interval, ratio, steps_out_of_order, student
from estimator.timing.precision import SWEEPS, polish
from simulator.cost.curves import CostModel

# Arrays of one shape, by cell.
Table = dict[Cell, NDArray[np.float64]]
# Number of bootstrap samples, which gives their spread to 5 %; a few sweeps suffice for each.
RESAMPLES = 200
RESAMPLE_SWEEPS = 5
LINE_TOLERANCE = 0.02
# Least share of a step that is not drafting.
LEAST_PASS = 0.01


@dataclass(frozen=True, slots=True)
class Steps:
    """Step times of an engine at one temperature and concurrency.

    baseline_seconds: seconds per token without speculation.
    seconds: seconds per step (drafting and target pass) by γ, in ascending order; at least one γ.
    off_line: γ that the line in γ leaves out; see `EngineKind`.
    """

    baseline_seconds: float
    seconds: Mapping[int, float]
    off_line: frozenset[int] = frozenset()

    @property
    def _on_line(self) -> dict[int, float]:
        kept = {g: seconds for g, seconds in self.seconds.items() if g not in self.off_line}
        return kept if kept else dict(self.seconds)

    @property
    def line_error(self) -> float | None:
        """Relative error of the line through both ends at a γ between; None if none was timed."""
        seconds = self._on_line
        if len(seconds) < 3:
            return None
        low, between, *_, high = seconds
        ends = [seconds[low], seconds[high]]
        return float(np.interp(between, [low, high], ends)) / seconds[between] - 1

    @property
    def is_line(self) -> bool:
        """Whether the line through both ends fits the γ between; True if none was timed."""
        return abs(self.line_error or 0.0) <= LINE_TOLERANCE

    @property
    def c(self) -> float:
        """Seconds per further drafted token (slope of the line, at least 0) / baseline_seconds."""
        # With a single γ, the line begins at the baseline's step.
        *_, high = points = list(self._on_line.items())
        low = points[0] if len(points) > 1 else (0, self.baseline_seconds)
        return max(0.0, (high[1] - low[1]) / (high[0] - low[0])) / self.baseline_seconds

    @property
    def cost(self) -> CostModel:
        """The cost model: drafting takes γ × slope of a step, the target pass the rest of it.

        The slope is reduced if the pass would take less than a share LEAST_PASS of some step.
        """
        gammas = list(self._on_line)
        kept = [gammas[0], gammas[-1]] if self.is_line else gammas
        most = min(seconds / gamma for gamma, seconds in self.seconds.items())
        draft = min(self.c * self.baseline_seconds, (1 - LEAST_PASS) * most)
        passes = {gamma + 1: self.seconds[gamma] - gamma * draft for gamma in kept}
        # The line goes on right behind a γ that is not on it.
        for gamma in self.off_line & self.seconds.keys() - set(kept):
            passes.setdefault(gamma + 2, passes[kept[0] + 1])
            passes[gamma + 1] = self.seconds[gamma] - gamma * draft
        return CostModel(target_seconds={1: self.baseline_seconds, **passes}, draft_seconds=draft)


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Times of a target pass with its drafting, at one temperature and concurrency of a trial.

    levels: seconds of a pass, by cell (use of the prompts, γ).
    drawn: indices of the prompts in each bootstrap resample, or of the repeats if prompts ran
      together, shape (RESAMPLES, n); empty if a cell has a single prompt or repeat.
    resampled: seconds of a pass in each resample, by cell, shape (RESAMPLES,); NaN if not timed.
    """

    trial: Trial
    case: Case
    levels: dict[Cell, float]
    drawn: NDArray[np.int64]
    resampled: Table

    def step_ratio(self, use: Use, shorter: int, longer: int) -> Interval:
        """Returns the interval of the step time at γ `longer` over the step time at `shorter`."""
        if len(self.drawn) == 0:
            return None, None
        middle = self.levels[use, longer] / self.levels[use, shorter]
        quotients = self.resampled[use, longer] / self.resampled[use, shorter]
        return _resampled_interval(middle, quotients, units=self.drawn.shape[1])

    def speed_up_interval(self, speed_up: float, gamma: int) -> Interval:
        """Returns the interval of a measured speed-up; (None, None) without resamples."""
        if len(self.drawn) == 0:
            return None, None
        counts = _work(self.trial, self.case, ("rows", gamma))[..., 1:]
        counts = counts.sum(axis=0 if self.case[1] == 1 else 1)
        units = len(counts)
        # The timed prompts may be one more.
        more = self.drawn.shape[1] - units
        calls, tokens = np.pad(counts, ((0, more), (0, 0)))[self.drawn].sum(axis=1).T
        baseline, drafted = (self.resampled["rows", length] for length in (0, gamma))
        with np.errstate(divide="ignore", invalid="ignore"):
            quotients = baseline * tokens / (drafted * calls)
        return _resampled_interval(speed_up, quotients, units=units)

    def out_of_order(self, use: Use) -> dict[int, str]:
        """Returns, by γ, a sentence if its step is significantly faster than a smaller γ's step."""
        left_out = {0, *self.trial.kind.off_line}
        drafting = {
            g: t for (use_of, g), t in self.levels.items() if use_of == use and g not in left_out
        }
        return steps_out_of_order(drafting, partial(self.step_ratio, use))

    @property
    def precision_percent(self) -> float | None:
        """Largest half-width of the intervals of step time / baseline step time, in per cent.

        Errors of acceptance are not included. None without resamples.
        """
        ratios = [self.step_ratio(use, 0, gamma) for use, gamma in self.levels if gamma > 0]
        known = [high / low for low, high in ratios if low is not None and high is not None]
        return 100 * (math.sqrt(max(known)) - 1) if known else None

    @property
    def steps(self) -> Steps:
        """The step times on the timed prompts, from which the cost model is made."""
        gammas = self.trial.priced
        seconds = {gamma: self.levels["priced", gamma] for gamma in gammas}
        return Steps(self.levels["priced", 0], seconds, self.trial.kind.off_line)


def _resampled_interval(value: float, resampled: NDArray[np.float64], *, units: int) -> Interval:
    """Returns the interval of a ratio from its bootstrap resamples, symmetric in the logarithm.

    units: number n of resampled prompts or repeats. Percentiles are too narrow for small n, so the
      interval uses Student's t and the standard error times √(n / (n - 1)).
    """
    # Not NaN, 0 or infinite.
    logs = np.log(resampled[(resampled > 0) & (resampled < np.inf)])
    error = float(logs.std()) * math.sqrt(units / (units - 1))
    return ratio(value, error * value, student(units - 1))


def timed_steps(trial: Trial, case: Case) -> PassTimes:
    """Returns the times of target passes in a case; refuses texts without a step after the prompt.

    Within a turn, the speed of the machine is assumed equal for all servers that ran together.
    """
    cells = [cell for cell in trial.runs[case] if trial.prompts_of(cell[0])]
    table = {cell: block_seconds(_work(trial, case, cell)) for cell in cells}
    # One use may have a prompt fewer.
    turns = max(row.shape[1] for row in table.values())
    for (use, gamma), row in table.items():
        if np.isnan(row).all():
            raise ValueError(
                "max-new-tokens must leave a step after the passes over the prompts, "
                f"got {trial.request.text.max_new_tokens} at gamma {gamma}"
            )
        missing = ((0, 0), (0, turns - row.shape[1]))
        table[use, gamma] = np.pad(row, missing, constant_values=np.nan)
    whole = {cell: row.ravel() for cell, row in table.items()}
    levels = {cell: float(level) for cell, level in _levels(trial, whole, SWEEPS).items()}
    # Turns of one prompt are resampled, else repeats.
    axis = 1 if case[1] == 1 else 0
    present = np.array([~np.isnan(row).all(axis=1 - axis) for row in table.values()])
    units = present.shape[1]
    if present.sum(axis=1).min() < 2:
        return PassTimes(trial, case, levels, np.zeros((0, units), dtype=np.int64), {})
    drawn = np.random.default_rng(trial.request.seed).integers(0, units, (RESAMPLES, units))
    resamples = {
        cell: np.moveaxis(np.take(row, drawn, axis=axis), axis, 0).reshape(RESAMPLES, -1)
        for cell, row in table.items()
    }
    return PassTimes(trial, case, levels, drawn, _levels(trial, resamples, RESAMPLE_SWEEPS))


def precision_percent(trial: Trial) -> float | None:
    """Returns the largest `precision_percent` of a trial's cases; None if it is None in one."""
    every = [timed_steps(trial, case).precision_percent for case in trial.cases]
    known = [percent for percent in every if percent is not None]
    return max(known) if len(known) == len(every) else None


def _work(trial: Trial, case: Case, cell: Cell) -> NDArray[np.float64]:
    """Returns seconds, target passes and decoded tokens by turn, shape (repeats, turns, 3)."""
    past_end = trial.kind.drafts_past_end
    return np.array([one.work(drafts_past_end=past_end) for one in trial.runs[case][cell]])


def block_seconds(work: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the mean seconds of a target pass in each turn; NaN in turns without a pass.

    work: seconds, passes and decoded tokens of each turn, shape (..., 3).
    """
    seconds, steps, _ = np.moveaxis(work, -1, 0)
    return np.where(steps > 0, seconds / np.maximum(steps, 1), np.nan)


def _levels(trial: Trial, table: Table, sweeps: int) -> Table:
    """Returns each cell's seconds at the machine's median speed, shape (...).

    table: seconds by cell and turn, shape (..., turns).
    """
    levels_by_cell: Table = {}
    for group in trial.sharing:
        rows = [cell for cell in trial.cells(group) if cell in table]
        levels, _ = polish(np.stack([table[cell] for cell in rows], axis=-2), sweeps=sweeps)
        levels_by_cell |= dict(zip(rows, np.moveaxis(levels, -1, 0), strict=True))
    return levels_by_cell
