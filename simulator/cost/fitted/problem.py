"""The least-squares problem that runs state: its most probable parameters, and draws around them.

`simulator.cost.fitted.fit` has the equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.cost.fitted.deviations import Place, covariance, drawn, noise_column
from simulator.cost.fitted.machine import COUNT, Machine, Work
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.runs import Run
from simulator.numerics.arguments import Floats

# Least standard deviation of a run's noise, for runs that state none.
_EXACT = 1e-4
# Steps of Gauss and Newton; they end once no logarithm moves by more than _STILL.
_STEPS, _HALVINGS, _STILL, _LONGEST_STEP = 30, 6, 1e-3, 1.0
# Random steps of each draw, and their length in deviations over the root of the parameters' number.
_WALKS, _STRIDE = 20, 2.0


@dataclass(frozen=True, slots=True)
class Problem:
    """The least-squares problem of n runs: see the module's equations.

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
        noise: Floats = np.maximum([run.error for run in runs], _EXACT)
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
        """Returns log machine(γ; θ) of each run, shape (draws, n); logs: θ, (draws, COUNT)."""
        seconds = np.exp(logs[:, self.active]) @ self.works[:, :-1].T + self.works[:, -1]
        return np.asarray(np.log(seconds))

    def deviations(self, scales: Floats) -> Floats:
        """Returns draws of v + ε, the runs' deviations and noise, shape (draws, n)."""
        loads = list(dict.fromkeys(place.load for place in self.places))
        found = np.empty((len(scales), len(self.places)))
        for group, load in enumerate(loads):
            these = [index for index, place in enumerate(self.places) if place.load == load]
            found[:, these] = drawn(
                [self.places[each] for each in these], group, scales, self.prior
            )
        for index, noise in enumerate(self.noise.tolist()):
            found[:, index] += noise * noise_column(index, len(loads) + 1)
        return found

    def modes(self) -> tuple[Floats, Floats, Floats]:
        """Returns θ̂, its covariance H⁻¹ and the posterior probability, for each τ.

        The probability of the runs is Laplace's approximation (Tierney and Kadane 1986):

            log p(y | τ) ≈ -(|P^{1/2}(θ̂ - θ_0)|² + |R^{-1/2}(y - log machine(θ̂))|²
                            + log det R + log det H) / 2
        """
        tops: list[Floats] = []
        logs: list[float] = []
        covariances = np.repeat(self.prior.covariance[None], len(self.prior.jumps), axis=0)
        for scale in range(len(self.prior.jumps)):
            start = tops[-1] if tops else self.prior.logs
            top = self.solved(scale, np.zeros((1, COUNT)), self.measured[None], start)[0]
            active = top[None, self.active]
            _, _, hessian = self._slopes(scale, active)
            far = active - self.prior.logs[self.active]
            square = self._squares(scale, far, self.measured[None], active)[0]
            tops.append(top)
            logs.append(-(square + self.logdets[scale] + np.linalg.slogdet(hessian[0])[1]) / 2)
            known = np.linalg.inv(hessian[0]) - np.linalg.inv(self.inverse)
            covariances[scale] += self.following.T @ known @ self.following
        weights = np.array(self.prior.jumps)[:, 1] * np.exp(np.array(logs) - max(logs))
        return np.array(tops), covariances, weights / weights.sum()

    def solved(self, scale: int, apart: Floats, data: Floats, start: Floats) -> Floats:
        """Returns argmin_θ of the module's first equation by damped Gauss-Newton steps.

        apart: ξ, shape (draws, COUNT). data: y - v - ε, shape (draws, n). start: θ to begin with.
        """
        now = self.prior.logs + apart
        centre = now[:, self.active]
        found = np.broadcast_to(start[self.active], centre.shape).copy()
        moving = np.arange(len(found))
        squares = self._squares(scale, found - centre, data, found)
        for _ in range(_STEPS):
            step = self._step(scale, found[moving], centre[moving], data[moving])
            for _ in range(_HALVINGS):
                trial = found[moving] + step
                after = self._squares(scale, trial - centre[moving], data[moving], trial)
                worse = after > squares[moving]
                if not worse.any():
                    break
                step[worse] /= 4
            step[worse] = 0.0
            found[moving] += step
            squares[moving] = np.where(worse, squares[moving], after)
            moving = moving[np.abs(step).max(axis=1) > _STILL]
            if len(moving) == 0:
                break
        # Parameters that no run depends on follow the others by the prior's covariance.
        return np.asarray(now + (found - centre) @ self.following)

    def corrected(self, scale: int, logs: Floats, likeliest: Floats) -> Floats:
        """Returns draws of θ after steps of Metropolis et al. (1953) towards the posterior.

        The draws of `solved` are the posterior's for a linear machine; for this one, whose times
        are sums of exponentials, low ends were up to 5 % too low.

        logs: draws of `solved`, shape (draws, COUNT). likeliest: θ̂, whose curvature shapes steps.
        """
        generator, active = np.random.default_rng(0), logs[:, self.active]
        centre, measured = self.prior.logs[self.active], self.measured[None]
        _, _, hessian = self._slopes(scale, likeliest[None, self.active])
        steps = np.linalg.cholesky(np.linalg.inv(hessian[0])).T * _STRIDE / len(centre) ** 0.5
        squares = self._squares(scale, active - centre, measured, active)
        moved = active.copy()
        for _ in range(_WALKS):
            trial = moved + generator.normal(size=moved.shape) @ steps
            after = self._squares(scale, trial - centre, measured, trial)
            accepted = generator.exponential(2.0, len(moved)) > after - squares
            moved[accepted], squares[accepted] = trial[accepted], after[accepted]
        return np.asarray(logs + (moved - active) @ self.following)

    @property
    def following(self) -> Floats:
        """Mean change of all parameters per change of the active ones, shape (active, COUNT)."""
        prior = self.prior.covariance
        return np.asarray(self.inverse @ prior[self.active])

    def _step(self, scale: int, logs: Floats, centre: Floats, data: Floats) -> Floats:
        modelled, slopes, hessian = self._slopes(scale, logs)
        left = (data - modelled) @ self.precision[scale]
        uphill = np.einsum("sni,sn->si", slopes, left) - (logs - centre) @ self.inverse
        step = np.asarray(np.linalg.solve(hessian, uphill[..., None])[..., 0])
        longest = np.abs(step).max(axis=1, keepdims=True)
        return np.asarray(step * (_LONGEST_STEP / np.maximum(longest, _LONGEST_STEP)))

    def _squares(self, scale: int, far: Floats, data: Floats, logs: Floats) -> Floats:
        left = data - np.log(np.exp(logs) @ self.works[:, :-1].T + self.works[:, -1])
        prior = ((far @ self.inverse) * far).sum(axis=1)
        return np.asarray(prior + ((left @ self.precision[scale]) * left).sum(axis=1))

    def _slopes(self, scale: int, logs: Floats) -> tuple[Floats, Floats, Floats]:
        """Returns log machine(θ), its derivatives J, and H = P + Jᵀ R⁻¹ J, for each draw."""
        parts = self.works[:, :-1] * np.exp(logs)[:, None, :]
        seconds = parts.sum(axis=2) + self.works[:, -1]
        slopes = parts / seconds[..., None]
        hessian = self.inverse + np.swapaxes(slopes, 1, 2) @ (self.precision[scale] @ slopes)
        return np.log(seconds), slopes, hessian
