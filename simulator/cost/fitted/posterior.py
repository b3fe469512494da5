"""The distribution of a deployment's times given its runs, as draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.cost.fitted.deviations import Place, covariance, drawn
from simulator.cost.fitted.machine import Machine, Work, seconds_of, work
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.runs import LoadPoint, Run, impossible, log_gains, pooled
from simulator.numerics.arguments import Floats
from simulator.numerics.intervals import Forecast


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


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Equally likely draws of a deployment.

    logs: logarithms θ of the parameters, shape (draws, COUNT).
    scales: index of each draw's τ in `Prior.jumps`, shape (draws,).
    places: load and γ of the n runs that were used.
    factors: R⁻¹ (y - log machine(θ_s) - v_s - ε_s), shape (draws, n) (`simulator.cost.fitted.fit`).
    """

    logs: Floats
    scales: NDArray[np.int64]
    places: tuple[Place, ...]
    factors: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The distribution of a deployment's times, given its runs.

    prior: distribution before the runs.
    runs: all runs, the impossible ones included, which are not used.
    logs, covariance: most probable logarithms of the parameters, and their covariance.
    """

    machine: Machine
    prior: Prior
    runs: tuple[Run, ...]
    logs: Floats
    covariance: Floats
    draws: Draws
    _known: dict[tuple[LoadPoint, int], Floats] = field(default_factory=dict, repr=False)

    @property
    def impossible(self) -> tuple[Run, ...]:
        """Runs whose speed-up exceeds their tokens per block by more than noise."""
        return impossible(pooled(self.runs))

    @property
    def calibrated(self) -> bool:
        """Whether predicted probabilities of a gain can be trusted; true once drafts were run."""
        return self.prior.calibrated or any(place.gamma > 0 for place in self.draws.places)

    def measured(self, load: LoadPoint) -> dict[int, float]:
        """Returns the speed-up that the runs at a load measured, by γ, as they are."""
        gains = log_gains([run for run in self.runs if run.load == load])
        return {gamma: float(np.exp(gain)) for gamma, (gain, _) in gains.items()}

    def left_out(self, load: LoadPoint) -> set[int]:
        """Returns each γ whose run at a load is impossible, and not used."""
        return {run.gamma for run in self.impossible if run.load == load}

    def plain(self, load: LoadPoint) -> Floats:
        """Returns draws of the logarithm of a baseline step's seconds, shape (draws,).

        Without runs, they are conditioned on the least time that physics allows.
        """
        return self._columns(load, [0])[:, 0]

    def ratios(self, load: LoadPoint, gammas: Sequence[int]) -> Floats:
        """Returns draws of log(time of a baseline step / time of a block), shape (draws, n).

        They are conditioned on physics: a block takes no less than a baseline step.
        gammas: each at least 1.
        """
        return self._columns(load, gammas)

    def speed_ups(
        self, load: LoadPoint, gammas: Sequence[int], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the distribution of the speed-up over no speculation for each γ.

        gammas: each at least 1. lengths: mean tokens that a block emits at each γ, at least 1.
        """
        return Forecast.drawn(self.ratios(load, gammas) + np.log(np.asarray(lengths, np.float64)))

    def seconds_per_token(
        self, load: LoadPoint, gammas: Sequence[int], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the distribution of the time between two tokens of a sequence, for each γ.

        lengths: mean tokens that a block emits at each γ; 1 at γ = 0 (no speculation). The median
        time with drafts is the baseline's median over the median of the speed-up.
        """
        columns = self._columns(load, gammas)
        drafted, plain = np.asarray(gammas) > 0, self.plain(load)[:, None]
        draws = np.where(drafted, plain - columns - np.log(lengths), columns)
        medians = np.median(plain) - np.median(columns, axis=0) - np.log(lengths)
        off = np.where(drafted, medians - np.median(draws, axis=0), 0.0)
        return Forecast.drawn(draws + off)

    def modelled(self, load: LoadPoint, gammas: Sequence[int]) -> Floats:
        """Returns the median of the machine's own log ratios (see `ratios`), without deviations."""
        logs = np.log(seconds_of(self._works(load, [0, *gammas]), self.draws.logs))
        return np.asarray(np.median(logs[:, :1] - logs[:, 1:], axis=0))

    def _columns(self, load: LoadPoint, gammas: Sequence[int]) -> Floats:
        """Returns draws of `plain` (γ = 0) and `ratios`, shape (draws, n).

        A column does not depend on the other γ, so that every caller has the same numbers.
        """
        missing = sorted({*gammas} - {0} - {gamma for at, gamma in self._known if at == load})
        if missing or (load, 0) not in self._known:
            free = self._free(load, [0, *missing])
            least = 0.0 if self._bounded else self.machine.least_seconds(load)
            lowest = np.log(least) if least > 0 else -np.inf
            physical = free[:, 0] >= lowest
            self._known[load, 0] = conditioned(free[:, 0], physical, lowest)
            for place, gamma in enumerate(missing, start=1):
                values = free[:, 0] - free[:, place]
                self._known[load, gamma] = conditioned(values, physical & (values <= 0), 0.0)
        return np.stack([self._known[load, gamma] for gamma in gammas], axis=1)

    @property
    def _bounded(self) -> bool:
        """Whether runs, or passes that are read again, replace the bound of the data sheet."""
        return bool(self.runs) or self.machine.rejected is not None

    def _free(self, load: LoadPoint, gammas: Sequence[int]) -> Floats:
        """Returns draws of log seconds of a step or block at each γ, shape (draws, n)."""
        draws = self.draws
        scales = np.array(self.prior.jumps)[draws.scales, 0]
        asked = [Place(load, gamma) for gamma in gammas]
        loads = list(dict.fromkeys(place.load for place in draws.places))
        group = loads.index(load) if load in loads else len(loads)
        found = drawn(asked, group, scales, self.prior)
        if load in loads:
            shared = covariance(asked, draws.places, self.prior)
            for scale, matrix in enumerate(shared):
                these = draws.scales == scale
                found[these] += draws.factors[these] @ matrix.T
        return found + np.log(seconds_of(self._works(load, gammas), draws.logs))

    def _works(self, load: LoadPoint, gammas: Sequence[int]) -> Work:
        return np.array([self.machine.token_work(load, gamma, 1.0) for gamma in gammas])


def conditioned(values: Floats, allowed: NDArray[np.bool_], bound: float) -> Floats:
    """Returns equally likely draws of a value given that it is allowed, shape (draws,).

    The draw of rank r takes the quantile of (r + 1/2) / N among the allowed draws, so that draws of
    several quantities stay in step. Where no draw is allowed, all take the bound.
    """
    if allowed.all():
        return values
    if not allowed.any():
        return np.full(values.shape, bound)
    kept, count = np.sort(values[allowed]), len(values)
    ranks = np.empty(count)
    ranks[np.argsort(values)] = np.arange(count)
    return np.interp((ranks + 0.5) / count, (np.arange(len(kept)) + 0.5) / len(kept), kept)
