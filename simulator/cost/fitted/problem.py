"""The parameters of a deployment given its runs, as weighted draws.

`simulator.cost.fitted.fit` has the equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simulator.cost.fitted.deviations import (
    PARAMETER_COLUMNS,
    Place,
    covariance,
    drawn,
    noise_column,
)
from simulator.cost.fitted.machine import Machine, Work
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.runs import Run
from simulator.numerics.arguments import Floats
from simulator.numerics.lattice import MANY, normal_draws

# Least standard deviation of a run's noise, for runs that state none.
_EXACT = 1e-4
# Degrees of freedom of the proposal, an even number.
_FREEDOM = 6
# Share of the draws that must count, what the power of the likelihood is multiplied by while fewer
# do, its least value, the most rounds, the largest relative change of variances that ends them, and
# the steps to the most probable parameters.
_WORTH, _COOLER, _LEAST_POWER, _ROUNDS, _SETTLED, _STEPS = 1 / 16, 0.7, 1e-5, 60, 0.01, 30


@dataclass(frozen=True, slots=True)
class Problem:
    """The equations of n runs in the parameters of a deployment.

    active: the parameters on which some run depends. inverse: the inverse P of their covariance.
    works: the machine's work per emitted token in each run, of the active parameters and fixed
      seconds, shape (n, active + 1).
    measured: logarithms of seconds per token, y. noise: their standard deviations.
    precision: R⁻¹ for each τ of the prior's jumps, shape (τ, n, n). logdets: log det R, shape (τ,).
    """

    prior: Prior
    active: NDArray[np.int64]
    inverse: Floats
    works: Work
    places: tuple[Place, ...]
    measured: Floats
    noise: Floats
    precision: Floats
    logdets: Floats

    @classmethod
    def of(cls, machine: Machine, prior: Prior, runs: Sequence[Run]) -> Problem:
        places = tuple(Place(run.load, run.mean_drafted) for run in runs)
        noise: Floats = np.maximum([run.step_error for run in runs], _EXACT)
        whole = covariance(places, places, prior) + np.diag(noise**2)
        works = np.array([machine.run_work(run) for run in runs])
        used = works[:, :-1].any(axis=0) & np.isfinite(prior.logs)
        active = np.flatnonzero(used)
        return cls(
            prior,
            active,
            np.asarray(np.linalg.inv(prior.covariance[np.ix_(active, active)])),
            works[:, [*active, -1]],
            places,
            np.log([run.seconds_per_token for run in runs]),
            noise,
            np.asarray(np.linalg.inv(whole)),
            np.asarray(np.linalg.slogdet(whole)[1]),
        )

    def modelled(self, logs: Floats) -> Floats:
        """Returns log machine(γ; θ) of each run, shape (draws, n); logs: active θ."""
        seconds = self.works[:, :-1] @ np.exp(logs.T) + self.works[:, -1:]
        return np.asarray(np.log(seconds).T)

    def deviations(self, scales: Floats) -> Floats:
        """Returns draws of v + ε, the runs' deviations and noise, shape (draws, n)."""
        loads = list(dict.fromkeys(place.load for place in self.places))
        columns = np.empty((len(scales), len(self.places)))
        for group, load in enumerate(loads):
            these = [index for index, place in enumerate(self.places) if place.load == load]
            columns[:, these] = drawn(
                [self.places[index] for index in these], group, scales, self.prior
            )
        for index, noise in enumerate(self.noise.tolist()):
            columns[:, index] += noise * noise_column(index, len(loads) + 1, len(scales))
        return columns

    def likelihoods(self, modelled: Floats) -> Floats:
        """Returns log p(τ) p(y | θ, τ) up to a constant, shape (τ, draws)."""
        left, logs = (self.measured - modelled).T, []
        for scale, (_, chance) in enumerate(self.prior.jumps):
            square = _squares(left, self.precision[scale])
            logs.append(np.log(chance) - (square + self.logdets[scale]) / 2)
        return np.array(logs)

    def sampled(self) -> tuple[Floats, Floats]:
        """Returns draws of the active parameters given the runs, and each draw's weight.

        Draws of a multivariate t distribution q weigh p(θ) p(y | θ)ᵇ / q(θ) each. The first q has
        the prior's mean and covariance, each further q the weighted draws' (adaptive importance
        sampling, Oh and Berger 1992), with b = 1 in the last two rounds. Before, b is so small that
        a share of _WORTH of the draws counts: Σ² w / Σ w² (tempering, Neal 1996). Where no q is
        near enough for b = 1, the rounds end once q no longer changes.
        """
        centre, size = self.prior.logs[self.active], len(self.active)
        away, proposed = _proposed(size)
        mean, spread = centre, np.linalg.inv(self.inverse)
        whole = 0
        for _ in range(_ROUNDS):
            logs = mean + (np.linalg.cholesky(spread) @ away).T
            before = -_squares((logs - centre).T, self.inverse) / 2 - proposed
            fits = _log_of_sum(self.likelihoods(self.modelled(logs)))
            power, weights = 1.0, _weights(before + fits)
            while (weights**2).sum() * _WORTH * MANY > 1 and power > _LEAST_POWER:
                power *= _COOLER
                weights = _weights(before + power * fits)
            whole = whole + 1 if power == 1 else 0
            if whole == 2:
                break
            mean, former = weights @ logs, np.diag(spread)
            spread = weighted_covariance(logs, weights)
            if power < 1 and np.abs(np.diag(spread) / former - 1).max() < _SETTLED:
                break
        return logs, _weights(before + fits)

    def mode(self, start: Floats) -> Floats:
        """Returns the most probable active parameters, by half Gauss-Newton steps from `start`."""
        mode, centre = start.copy(), self.prior.logs[self.active]
        precision = self.precision[self.likelihoods(self.modelled(start[None])).argmax()]
        for _ in range(_STEPS):
            parts = self.works[:, :-1] * np.exp(mode)
            seconds = parts.sum(axis=1) + self.works[:, -1]
            slopes = parts / seconds[:, None]
            uphill = slopes.T @ precision @ (self.measured - np.log(seconds))
            uphill -= self.inverse @ (mode - centre)
            mode += np.linalg.solve(self.inverse + slopes.T @ precision @ slopes, uphill) / 2
        return mode

    @property
    def following(self) -> Floats:
        """Mean change of all parameters per change of the active ones, shape (active, COUNT)."""
        prior = self.prior.covariance
        return np.asarray(self.inverse @ prior[self.active])


@cache
def _proposed(size: int) -> tuple[Floats, Floats]:
    """Returns draws of a standard t distribution, shape (size, draws), and their log densities."""
    normal = normal_draws(PARAMETER_COLUMNS, size + _FREEDOM, MANY).T
    away = normal[:size] / np.sqrt((normal[size:] ** 2).mean(axis=0))
    return away, -(_FREEDOM + size) / 2 * np.log1p((away**2).sum(axis=0) / _FREEDOM)


def weighted_covariance(draws: Floats, weights: Floats) -> Floats:
    """Returns the covariance of weighted draws as `np.cov` does, in a tenth of its time.

    draws: shape (draws, n). weights: weights of the draws, whose sum is 1.
    """
    away = draws - weights @ draws
    return np.asarray((away.T * weights) @ away / (1 - weights @ weights))


def _squares(away: Floats, precision: Floats) -> Floats:
    """Returns xᵀ P x of each draw x. away: shape (n, draws); rows are computed on faster."""
    return np.asarray(np.einsum("ij,ij->j", precision @ away, away))


def _log_of_sum(logs: Floats) -> Floats:
    """Returns what `np.logaddexp.reduce` does, in a tenth of its time."""
    most = logs.max(axis=0)
    return np.asarray(most + np.log(np.exp(logs - most).sum(axis=0)))


def _weights(logs: Floats) -> Floats:
    """Returns weights with these logarithms, up to a factor, whose sum is 1."""
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
