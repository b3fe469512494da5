"""The loss of the advised γ in published sweeps, and how soon runs find the best one."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from published_deployed import runs_of
from published_rows import Row
from published_scores import Guess, guess, predicted

from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import from_counts
from simulator.choice.advice import advise
from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import published_prior

LEAST_GAMMAS = 3
# Where people start, as engines' documents do.
FIRST_GAMMA = 3
FURTHER_RUNS = 2


@dataclass(frozen=True)
class Choice:
    """The choice from a sweep.

    rows: rows of the sweep, by γ.
    gamma: chosen; 0: not to speculate.
    runs: further runs that it took.
    """

    rows: dict[int, Row]
    gamma: int
    runs: int = 0

    @property
    def loss(self) -> float:
        """The share of the best speed that the choice forgoes."""
        speeds = {0: 1.0, **{gamma: row.speed_up for gamma, row in self.rows.items()}}
        return 1 - speeds[self.gamma] / max(speeds.values())


def sweeps(rows: Sequence[Row]) -> list[dict[int, Row]]:
    """Returns the rows that differ only in γ, at least three of them, by γ."""
    groups: dict[Any, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        groups[row.sweep].setdefault(row.run.gamma, row)
    return [dict(sorted(group.items())) for group in groups.values() if len(group) >= LEAST_GAMMAS]


def unaided(sweep: dict[int, Row], effects: dict[str, Any]) -> tuple[Choice, Choice]:
    """Returns the γ of the best prediction without a run, and the one to try; lengths given."""
    rows = list(sweep.values())
    law = predicted(
        _posterior(rows[0], [], effects),
        rows[0].run.load,
        [row.run.gamma for row in rows],
        [row.run.length for row in rows],
    )
    advice = advise(np.array(list(sweep)), law)
    return Choice(sweep, advice.best), Choice(sweep, advice.gamma)


def others(sweep: dict[int, Row], effects: dict[str, Any], *, runs: int) -> list[Guess]:
    """Returns predictions of a sweep's rows from every choice of so many others of it."""
    return [
        guess(row, evidence, effects)
        for evidence in combinations(sweep.values(), runs)
        for row in sweep.values()
        if row not in evidence
    ]


def session(sweep: dict[int, Row], effects: dict[str, Any]) -> Choice:
    """Returns what someone finds who runs what is advised, knowing no length beforehand."""
    gammas = np.array(list(sweep))
    tried = [int(gammas[np.abs(gammas - FIRST_GAMMA).argmin()])]
    while len(tried) <= FURTHER_RUNS:
        rows = [sweep[gamma] for gamma in tried]
        law = from_counts([Accepted(row.run.gamma, row.run.length) for row in rows])
        lengths, doubt = law.log_lengths(gammas)
        cost = _posterior(rows[0], rows, effects)
        times = predicted(cost, rows[0].run.load, gammas.tolist(), np.exp(lengths).tolist())
        advice = advise(gammas, times.blurred(doubt), tried={0, *tried})
        following = advice.next_run
        if following is None:
            break
        tried.append(following.gamma)
    best = max([0, *tried], key=lambda gamma: sweep[gamma].speed_up if gamma else 1.0)
    return Choice(sweep, best, len(tried) - 1)


def _posterior(row: Row, evidence: Sequence[Row], effects: dict[str, Any]) -> Posterior:
    return infer(row.machine, published_prior(row.traits, effects=effects), runs_of(evidence))
