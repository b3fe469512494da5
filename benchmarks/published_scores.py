"""How far predictions of public measurements are off, each by a prior without its whole source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from published_deployed import runs_of
from published_fit import ROOFLINE, First, fit
from published_machines import PublishedMachine
from published_rows import Row

from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.machine import COUNT, PARAMETERS
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import Prior, published_prior
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.forward import DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS
from simulator.numerics.intervals import Forecast

# The intervals hold this share.
SHARE = 0.9
# Rows nearer to 1 than this say little of the sign of the gain.
CLOSE = 1.05


@dataclass(frozen=True)
class Guess:
    """A speed-up, or a time of a step without drafts, as predicted and as measured.

    row: the measurement.
    log, low, high: median of the predicted logarithm, and its 5 and 95 % quantiles.
    measured: the measured logarithm.
    probability: predicted probability of a gain.
    rank: predicted probability of a smaller value than the measured one.
    """

    row: Row
    log: float
    low: float
    high: float
    measured: float
    probability: float = float("nan")
    rank: float = float("nan")

    @property
    def error(self) -> float:
        """Predicted over measured value, less 1."""
        return float(np.expm1(self.log - self.measured))

    @property
    def inside(self) -> bool:
        """Whether the measured value lies in the predicted 90 % interval."""
        return self.low <= self.measured <= self.high

    @property
    def interval_score(self) -> float:
        """The score of the 90 % interval in logarithms (Gneiting and Raftery 2007, eq. 43)."""
        outside = max(self.low - self.measured, 0.0) + max(self.measured - self.high, 0.0)
        return self.high - self.low + 2 / (1 - SHARE) * outside


@dataclass(frozen=True)
class Score:
    """The quality of many guesses; all but `rows` and `interval` are shares."""

    rows: int
    mean: float
    median: float
    bias: float
    sign: float
    inside: float
    width: float
    interval: float

    @classmethod
    def of(cls, guesses: Sequence[Guess]) -> Score:
        errors = np.array([each.error for each in guesses])
        far = [each for each in guesses if abs(each.measured) > np.log(CLOSE)]
        right = [(each.log > 0) == (each.measured > 0) for each in far]
        return cls(
            len(guesses),
            float(np.abs(errors).mean()),
            float(np.median(np.abs(errors))),
            float(errors.mean()),
            float(np.mean(right)) if right else float("nan"),
            float(np.mean([each.inside for each in guesses])),
            float(np.expm1(np.mean([each.high - each.low for each in guesses]) / 2)),
            float(np.mean([each.interval_score for each in guesses])),
        )


def chosen_on(owner: str) -> bool:
    """Returns whether constants of the fit over the roofline were chosen by a source's rows.

    By the first byte of SHA-256 of the owner's name, so that nobody chooses the half. Each source
    of both halves is predicted by a fit of all other sources.
    """
    return sha256(owner.encode()).digest()[0] % 2 == 0


def by_source(guesses: Sequence[Guess], *, draws: int = 400) -> NDArray[np.float64]:
    """Returns 90 % intervals of coverage, half-width and interval score by drawing whole sources.

    Shape (3, 2): for each of the three its 5 and 95 % quantiles over the drawn sets of sources.
    """
    owners = defaultdict(list)
    for each in guesses:
        owners[each.row.owner].append((each.inside, each.high - each.low, each.interval_score, 1))
    sums = np.array([np.sum(rows, axis=0) for rows in owners.values()])
    lots = np.random.default_rng(0).integers(len(sums), size=(draws, len(sums)))
    totals = sums[lots].sum(axis=1)
    means = totals[:, :3] / totals[:, 3:]
    means[:, 1] = np.expm1(means[:, 1] / 2)
    return np.asarray(np.quantile(means, [0.05, 0.95], axis=0).T)


def without_source(
    rows: Sequence[Row], first: First = ROOFLINE, *, only: Container[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Returns for every source, or for some, what the others' rows give."""
    owners = sorted({row.owner for row in rows if only is None or row.owner in only})
    return {owner: fit([row for row in rows if row.owner != owner], first) for owner in owners}


def guess(row: Row, evidence: Sequence[Row], effects: dict[str, Any]) -> Guess:
    """Returns the prediction of a row from its prior and others of its deployment."""
    posterior = infer(row.machine, published_prior(row.traits, effects=effects), runs_of(evidence))
    return of_posterior(row, posterior)


def of_posterior(row: Row, posterior: Posterior) -> Guess:
    law = predicted(posterior, row.run.load, [row.run.gamma], [row.run.length])
    return _guess(row, law, float(np.log(row.speed_up)))


def predicted(
    posterior: Posterior, load: LoadPoint, gammas: Sequence[int], lengths: Sequence[float]
) -> Forecast:
    """Returns the law of speed-ups; blocks of a `PublishedMachine` wait for prompts."""
    machine = posterior.machine
    if isinstance(machine, PublishedMachine):
        emitted = dict(zip(gammas, lengths, strict=True))
        posterior = replace(posterior, machine=replace(machine, emitted=emitted))
    return posterior.speed_ups(load, gammas, lengths)


def plain_step(row: Row, effects: dict[str, Any]) -> Guess:
    """Returns the prediction of the row's time of a step without drafts, for any draft."""
    undrafted = replace(row.traits, draft=None)
    posterior = infer(row.machine, published_prior(undrafted, effects=effects), [])
    law = posterior.seconds_per_token(row.run.load, [0], [1.0])
    return _guess(row, law, float(np.log(row.plain.seconds_per_token)))


def _guess(row: Row, law: Forecast, measured: float) -> Guess:
    shares = ((1 - SHARE) / 2, 0.5, (1 + SHARE) / 2)
    low, middle, high = (float(np.log(law.quantile(share)[0])) for share in shares)
    gain, more = (float(law.exceeds(level)[0]) for level in (1.0, np.exp(measured)))
    return Guess(row, middle, low, high, measured, gain, 1 - more)


def before(row: Row) -> Guess:
    """Returns the prediction of the roofline only, without any time outside the models' passes."""
    logs = np.full(COUNT, -np.inf)
    logs[PARAMETERS.index("roof")] = -np.log(DEFAULT_EFFICIENCY)
    logs[PARAMETERS.index("layer")] = np.log(DEFAULT_LAYER_SECONDS)
    for name in ("experts", "cache"):
        logs[PARAMETERS.index(name)] = -np.log(DEFAULT_EFFICIENCY)
    prior = Prior(logs, np.zeros((COUNT, COUNT)), 0.0, 0.0)
    replayed = replace(row.deployed, launch=None)
    machine = replace(row.machine, deployment=replayed)  # type: ignore[call-arg]
    return of_posterior(row, infer(machine, prior, []))


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
