"""Runs of the public measurements as equations: speed-ups where a baseline was run, else times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.cost.fitted.machine import Machine, Work, seconds_of
from simulator.cost.fitted.runs import LoadPoint, Run
from simulator.numerics.arguments import Floats


def log_slopes(works: Work, logs: Floats) -> Floats:
    """Returns the derivatives of log(seconds_of(works)) with respect to θ, shape (n, COUNT)."""
    parts = works[:, :-1] * np.exp(logs)
    return np.asarray(parts / (parts.sum(axis=1) + works[:, -1])[:, None])


@dataclass(frozen=True, slots=True)
class Evidence:
    """Measurements of n runs, as logarithms: speed-ups where `paired`, else seconds per token.

    own, plain: the machine's `Work` per emitted token at each run's γ, and without speculation at
      the run's load, shape (n, COUNT + 1).
    drafted: whether each run speculated, shape (n,).
    paired: whether each run speculated and its load was also run without speculation, shape (n,).
    measured: the logarithms, shape (n,). noise: their standard deviations due to the runs' `error`.
    loads: the loads of the paired runs, without repetition.
    at_load: entry (i, j) is 1 if run i is paired and has load j, else 0.
    """

    own: Work
    plain: Work
    paired: NDArray[np.bool_]
    drafted: NDArray[np.bool_]
    measured: Floats
    noise: Floats
    loads: tuple[LoadPoint, ...]
    at_load: Floats

    @classmethod
    def of(cls, machine: Machine, runs: Sequence[Run]) -> Evidence:
        """Returns the evidence of runs; speed-ups are over the mean of runs without drafts."""
        times = np.log([run.seconds_per_token for run in runs])
        errors = np.array([run.error for run in runs])
        drafted = np.array([run.gamma > 0 for run in runs])
        plain: dict[LoadPoint, list[int]] = defaultdict(list)
        for place in np.flatnonzero(~drafted).tolist():
            plain[runs[place].load].append(place)
        paired = drafted & [run.load in plain for run in runs]
        # A run without a baseline is its own baseline, which has no effect below.
        baselines = [plain.get(run.load, [place]) for place, run in enumerate(runs)]
        before = np.array([times[each].mean() for each in baselines])
        error = np.array([errors[each[-1]] for each in baselines])
        of_pairs = [run.load if each else None for run, each in zip(runs, paired, strict=True)]
        loads = tuple(dict.fromkeys(load for load in of_pairs if load is not None))
        at_load = [[own == load for load in loads] for own in of_pairs]
        return cls(
            np.array([machine.run_work(run) for run in runs]),
            np.array([machine.token_work(run.load, 0, 1.0) for run in runs]),
            paired,
            drafted,
            np.where(paired, before - times, times),
            np.where(paired, np.hypot(errors, error), errors),
            loads,
            np.array(at_load, dtype=np.float64).reshape(len(runs), len(loads)),
        )

    def errors(self, level_error: float, ratio_error: float) -> Floats:
        """Returns each `misfit`'s standard deviation, from `noise` and two errors of a `Prior`."""
        unpaired = np.hypot(level_error, ratio_error * self.drafted)
        return np.asarray(np.hypot(np.where(self.paired, ratio_error, unpaired), self.noise))

    def misfit(self, logs: Floats) -> Floats:
        """Returns log(modelled / measured) of each run; logs: logarithms θ of the parameters."""
        own, plain = np.log(seconds_of(self.own, logs)), np.log(seconds_of(self.plain, logs))
        return np.asarray(np.where(self.paired, plain - own, own) - self.measured)

    def slopes(self, logs: Floats) -> Floats:
        """Returns the derivatives of `misfit` with respect to θ (`logs`), shape (n, COUNT)."""
        own = log_slopes(self.own, logs)
        return np.asarray(np.where(self.paired[:, None], log_slopes(self.plain, logs) - own, own))
