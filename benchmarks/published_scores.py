"""How far predictions of public measurements are off, each by a prior without its whole source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from published_fit import fit, runs_of
from published_rows import Row

from simulator.cost.efficiency import DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS
from simulator.cost.parameters import COUNT, PARAMETERS
from simulator.cost.posterior import Posterior, Prior, infer
from simulator.cost.published_prior import published_prior

# Of a normal law, both sides of the 90 % about its mean.
NINETY = 1.6449
# Rows nearer to 1 than this say little of the sign of the gain.
CLOSE = 1.05


@dataclass(frozen=True)
class Guess:
    """A speed-up as predicted, and as measured.

    row: the measurement.
    log, deviation: of the predicted speed-up's logarithm.
    """

    row: Row
    log: float
    deviation: float

    @property
    def error(self) -> float:
        """Predicted over measured speed-up, less 1."""
        return float(np.exp(self.log) / self.row.speed_up - 1)

    @property
    def inside(self) -> bool:
        """Whether the measured one lies in the predicted 90 % interval."""
        return abs(self.log - np.log(self.row.speed_up)) <= NINETY * self.deviation


@dataclass(frozen=True)
class Score:
    """Of many guesses, all but `rows` as shares."""

    rows: int
    mean: float
    median: float
    bias: float
    sign: float
    inside: float
    width: float

    @classmethod
    def of(cls, guesses: Sequence[Guess]) -> Score:
        errors = np.array([each.error for each in guesses])
        far = [each for each in guesses if abs(np.log(each.row.speed_up)) > np.log(CLOSE)]
        right = [(each.log > 0) == (each.row.speed_up > 1) for each in far]
        return cls(
            len(guesses),
            float(np.abs(errors).mean()),
            float(np.median(np.abs(errors))),
            float(errors.mean()),
            float(np.mean(right)) if right else float("nan"),
            float(np.mean([each.inside for each in guesses])),
            float(np.exp(NINETY * np.mean([each.deviation for each in guesses])) - 1),
        )


def without_source(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Returns for every source what the others' rows give."""
    owners = sorted({row.owner for row in rows})
    return {owner: fit([row for row in rows if row.owner != owner]) for owner in owners}


def guess(row: Row, evidence: Sequence[Row], effects: dict[str, Any]) -> Guess:
    """Returns the prediction of a row from its prior and others of its deployment."""
    posterior = infer(row.machine, published_prior(row.traits, effects=effects), runs_of(evidence))
    return of_posterior(row, posterior)


def of_posterior(row: Row, posterior: Posterior) -> Guess:
    assert row.run.drafting is not None
    law = posterior.speed_ups(row.run.load, [row.run.drafting], [row.run.length])
    return Guess(row, float(law.mean[0]), float(law.deviation[0]))


def before(row: Row) -> Guess:
    """Returns what the roofline alone said, without any time beside the passes of the models."""
    logs = np.full(COUNT, -np.inf)
    logs[PARAMETERS.index("roof")] = -np.log(DEFAULT_EFFICIENCY)
    logs[PARAMETERS.index("layer")] = np.log(DEFAULT_LAYER_SECONDS)
    for name in ("experts", "cache"):
        logs[PARAMETERS.index(name)] = -np.log(DEFAULT_EFFICIENCY)
    prior = Prior(logs, np.zeros((COUNT, COUNT)), 0.0, 0.0)
    return of_posterior(row, infer(row.machine, prior, []))


def with_runs(
    rows: Sequence[Row],
    effects: dict[str, dict[str, Any]],
    *,
    count: int,
    eligible: Callable[[Row, Row], bool],
    generator: np.random.Generator,
) -> list[Guess]:
    """Returns predictions of every row from so many others of its deployment, chosen by chance.

    effects: by the source that they leave out; eligible: whether the second row may speak for the
    first.
    """
    groups = defaultdict(list)
    for row in rows:
        groups[row.deployment].append(row)
    guesses = []
    for group in groups.values():
        for row in group:
            others = [each for each in group if each is not row and eligible(row, each)]
            if len(others) >= count:
                chosen = generator.choice(len(others), count, replace=False)
                evidence = [others[index] for index in chosen]
                guesses.append(guess(row, evidence, effects[row.owner]))
    return guesses


def grouped(guesses: Iterable[Guess], name: Callable[[Row], str]) -> list[tuple[str, list[Guess]]]:
    """Returns the guesses by a name of their rows, sorted."""
    groups = defaultdict(list)
    for each in guesses:
        groups[name(each.row)].append(each)
    return sorted(groups.items())
