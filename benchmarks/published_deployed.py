"""Deployments of the table of public measurements, and what is known of each during a fit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from published_evidence import Evidence
from published_rows import Row

from simulator.cost.fitted.machine import COUNT
from simulator.cost.fitted.runs import Run

# Before any round: errors of a time, of a run's speed-up, and of all speed-ups of a load.
FIRST_ERRORS = np.array([0.08, 0.03, 0.05])


@dataclass
class Deployed:
    """One deployment of the table, and what is known of it so far.

    errors: standard deviations of a time, of a run's speed-up, and of all speed-ups of a load.
    found, doubt: parameters and load effects, and their covariance, as conclude gives them.
    """

    first: Row
    evidence: Evidence
    weight: float
    errors: NDArray[np.float64]
    found: NDArray[np.float64] | None = None
    doubt: NDArray[np.float64] | None = None

    @property
    def logs(self) -> NDArray[np.float64]:
        assert self.found is not None
        return self.found[:COUNT]

    @property
    def spread(self) -> NDArray[np.float64]:
        """The covariance of the parameters."""
        assert self.doubt is not None
        return self.doubt[:COUNT, :COUNT]

    def move(self, mean: NDArray[np.float64], precision: NDArray[np.float64]) -> None:
        """Takes a step of Gauss and Newton towards the most probable parameters, if it is one."""
        loads = len(self.evidence.loads)
        level, ratio, shared = self.errors
        weights = self.evidence.errors(level, ratio) ** -2.0
        inner = np.zeros((COUNT + loads,) * 2)
        inner[:COUNT, :COUNT] = precision
        inner[COUNT:, COUNT:] = np.eye(loads) / shared**2
        start = np.concatenate([mean, np.zeros(loads)])
        now = start if self.found is None else self.found

        def misfit(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return self.evidence.misfit(values[:COUNT]) + self.evidence.at_load @ values[COUNT:]

        def badness(values: NDArray[np.float64]) -> float:
            off = values - start
            return float(off @ inner @ off + weights @ misfit(values) ** 2)

        slopes = np.hstack([self.evidence.slopes(now[:COUNT]), self.evidence.at_load])
        curvature = (slopes.T * weights) @ slopes + inner
        step = -np.linalg.solve(
            curvature, (slopes.T * weights) @ misfit(now) + inner @ (now - start)
        )
        share, before = 1.0, badness(now)
        while share > 1e-3 and badness(now + share * step) > before:
            share /= 2
        self.found = now + share * step if share > 1e-3 else now
        slopes = np.hstack([self.evidence.slopes(self.logs), self.evidence.at_load])
        self.doubt = np.linalg.inv((slopes.T * weights) @ slopes + inner)


def runs_of(rows: Sequence[Row]) -> list[Run]:
    """Returns the runs of rows; a plain run that several rows share, once."""
    return list(dict.fromkeys(run for row in rows for run in (row.plain, row.run)))


def impossible(rows: Sequence[Row]) -> set[str]:
    """Returns targets of which some row gains more than its accepted length.

    A step with drafts would then be quicker than one without: the two differ in something else.
    """
    return {row.facts["target"] for row in rows if row.speed_up > row.run.length}


def deployments(rows: Sequence[Row]) -> list[Deployed]:
    left_out = impossible(rows)
    groups = defaultdict(list)
    for row in rows:
        if row.facts["target"] not in left_out and row.deployed.launch != "eager":
            groups[row.deployment].append(row)
    owners = Counter(group[0].owner for group in groups.values())
    return [
        Deployed(
            group[0],
            Evidence.of(group[0].machine, runs_of(group)),
            owners[group[0].owner] ** -0.5,
            FIRST_ERRORS,
        )
        for group in groups.values()
    ]
