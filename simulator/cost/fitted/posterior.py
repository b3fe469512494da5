"""The distribution of a deployment's parameters given its runs, and of its speed-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import numpy as np

from simulator.cost.fitted.machine import COUNT, Machine, Work, log_slopes, seconds_of, work
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.runs import LoadPoint, Run, pooled
from simulator.numerics.arguments import Floats
from simulator.numerics.intervals import Forecast

# Half the draws where predictions are not linear in the parameters' logarithms.
_PAIRS = 128


class FittedMachine(Machine):
    """A machine whose times are three parameters, fitted to its runs, which must have one load.

    A target step takes "roof" seconds. A block adds "block" seconds, and for each drafted token
    "draft" seconds, which include the token's verification.
    """

    def plain_work(self, load: LoadPoint) -> Work:
        return work(roof=1)

    def drafting_work(self, load: LoadPoint, gamma: int, width: int = 1) -> Work:
        return work(draft=gamma)

    def block_pass(self, load: LoadPoint, new_tokens: int) -> Work:
        return work(roof=1, block=1)


@dataclass(frozen=True, slots=True)
class Posterior:
    """The distribution of a deployment's parameters, given its runs.

    prior: distribution before the runs.
    found: most probable logarithms: of the parameters, then, for each of `loads`, of the factor by
      which speed-ups at that load exceed the modelled ones; shape (COUNT + m,).
    doubt: covariance of `found`, shape (COUNT + m, COUNT + m).
    loads: the m loads that were run with and without drafts.
    """

    machine: Machine
    prior: Prior
    found: Floats
    doubt: Floats
    runs: tuple[Run, ...]
    loads: tuple[LoadPoint, ...] = ()

    @property
    def logs(self) -> Floats:
        """Most probable logarithms of the parameters, shape (COUNT,)."""
        return self.found[:COUNT]

    @property
    def covariance(self) -> Floats:
        """Covariance of the parameters' logarithms, shape (COUNT, COUNT)."""
        return self.doubt[:COUNT, :COUNT]

    @property
    def impossible(self) -> tuple[Run, ...]:
        """Runs whose speed-up exceeds their tokens per block, which is impossible."""
        plain = {run.load: run.seconds_per_token for run in self.runs if run.gamma == 0}
        drafted = [run for run in self.runs if run.gamma > 0]
        return tuple(run for run in drafted if plain.get(run.load, 0.0) > run.step_seconds)

    @property
    def calibrated(self) -> bool:
        """Whether predicted probabilities of a gain can be trusted; true once drafts were run."""
        return self.prior.calibrated or any(run.gamma > 0 for run in self.runs)

    @property
    def ratio_error(self) -> float:
        return self.prior.ratio_error

    def speed_ups(
        self, load: LoadPoint, gammas: Sequence[int], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the distribution of the speed-up over no speculation for each γ.

        gammas: each at least 1. lengths: mean tokens that a block emits at each γ, at least 1.
        """
        plain, own = self._works(load, [0], [1.0]), self._works(load, gammas, lengths)
        mean = _gains(plain, own, self.logs)
        slopes = log_slopes(plain, self.logs) - log_slopes(own, self.logs)
        covariance = slopes @ self.covariance @ slopes.T
        error = float(np.hypot(self.prior.ratio_error, self.prior.load_error))
        fitted = isinstance(self.machine, FittedMachine)
        vague = not (any(run.gamma > 0 for run in self.runs) if fitted else self.runs)
        if self.prior.drawn and vague:
            logs = self.logs + _normal_draws() @ np.linalg.cholesky(self.covariance).T
            drawn = _gains(plain, own, logs)
            mean, covariance = drawn.mean(axis=0), np.atleast_2d(np.cov(drawn, rowvar=False))
        if load in self.loads:
            at = COUNT + self.loads.index(load)
            shared = slopes @ self.doubt[:COUNT, at]
            mean = mean + self.found[at]
            covariance = covariance + shared[:, None] + shared + self.doubt[at, at]
            error = self.prior.ratio_error
        # A block takes no less than a step without drafts, unless runs contradict it.
        highest = np.inf if self.impossible else np.log(np.asarray(lengths, dtype=np.float64))
        return Forecast(mean, covariance, error, highest=highest)

    def seconds_per_token(
        self, load: LoadPoint, gammas: Sequence[int], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the distribution of the time between two tokens of a sequence, for each γ.

        lengths: mean tokens that a block emits at each γ; 1 at γ = 0 (no speculation).
        """
        plain = [run for run in self.runs if run.load == load and run.gamma == 0]
        drafted = np.array([gamma > 0 for gamma in gammas], dtype=np.float64)
        if plain:  # the measured time over the speed-ups
            (run,) = pooled(plain)
            law = self.speed_ups(load, np.maximum(gammas, 1).tolist(), lengths)
            covariance = np.outer(drafted, drafted) * (law.covariance + law.error**2)
            mean = np.log(run.seconds_per_token) - drafted * law.mean
            return Forecast(mean, covariance, max(run.error, self.prior.ratio_error))
        works = self._works(load, gammas, lengths)
        slopes = log_slopes(works, self.logs)
        # The error of measured speed-ups at one load counts in a time with drafts.
        own = np.hypot(self.prior.ratio_error, self.prior.load_error) * drafted
        covariance = slopes @ self.covariance @ slopes.T + np.outer(own, own)
        unknown = self.runs or self.machine.rejected is not None
        least = 0.0 if unknown else self.machine.least_seconds(load)
        return Forecast(
            np.log(seconds_of(works, self.logs)),
            covariance,
            self.prior.level_error,
            lowest=np.log(least / np.asarray(lengths)) if least > 0 else -np.inf,
        )

    def _works(self, load: LoadPoint, gammas: Sequence[int], lengths: Sequence[float]) -> Work:
        pairs = zip(gammas, lengths, strict=True)
        return np.array([self.machine.token_work(load, gamma, length) for gamma, length in pairs])


def _gains(plain: Work, own: Work, logs: Floats) -> Floats:
    """Returns log(seconds of plain / seconds of own), shape (n,), or (draws, n) for drawn logs."""
    return np.asarray(np.log(seconds_of(plain, logs)) - np.log(seconds_of(own, logs)))


@cache
def _normal_draws() -> Floats:
    """Returns standard normal draws and their negatives, shape (2 · _PAIRS, COUNT)."""
    # numpy's generator takes a tenth of a plan to import.
    gauss = Random(0).gauss
    lots = np.array([[gauss(0.0, 1.0) for _ in range(COUNT)] for _ in range(_PAIRS)])
    return np.vstack([lots, -lots])
