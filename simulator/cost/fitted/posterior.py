"""The distribution of a deployment's times given its runs, as draws.

A draw s has parameters θ_s and deviations v_s (`simulator.cost.fitted.deviations`), and at γ the
time t_s(γ) = machine(γ; θ_s) · exp(v_s(γ)). The speed-up with E[τ] tokens per block is

    E[τ] · t_s(0) / t_s(γ),   given   t_s(0) ≥ least   and   t_s(γ) ≥ t_s(0)

with `least` the least time of a baseline step that physics allows (`Machine.least_seconds`), unless
runs replace it. Each quantity keeps only the draws that its conditions allow (rejection sampling,
von Neumann 1951), and then takes their quantiles (`conditioned`). The p-quantile of N independent
draws with density f has a standard error of √(p (1 - p) / N) / f (David 1981, Order Statistics, eq.
2.5.1): 2 to 5 % per unit of the logarithm's deviation where p = 0.05 and N = 2039. So quantities of
large deviation take their quantiles from more draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from simulator.cost.fitted.deviations import Place, covariance, drawn
from simulator.cost.fitted.draws import Draws, conditioned
from simulator.cost.fitted.machine import Machine, Work, seconds_of, work
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.runs import LoadPoint, Run, impossible, log_gains
from simulator.numerics.arguments import Floats
from simulator.numerics.intervals import Forecast, median
from simulator.numerics.lattice import DRAWS, WIDE

# Quantities whose logarithm deviates by more than this take their quantiles from WIDE draws.
_WIDE = 0.3


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


@dataclass(frozen=True, eq=False)
class Posterior:
    """The distribution of a deployment's times, given its runs.

    prior: distribution before the runs.
    runs: all runs, the impossible ones included, which are not used.
    logs, covariance: most probable logarithms of the parameters, and their covariance.
    draws: returns so many draws (DRAWS or WIDE), each time the same.
    bare: the server without a draft, whose steps are the baseline; None: runs have the baseline.
    """

    machine: Machine
    prior: Prior
    runs: tuple[Run, ...]
    logs: Floats
    covariance: Floats
    draws: Callable[[int], Draws]
    bare: Posterior | None = None
    _known: dict[LoadPoint, dict[int, Floats]] = field(default_factory=dict, init=False, repr=False)
    _medians: dict[tuple[LoadPoint, int], float] = field(default_factory=dict, init=False)
    _drafting: dict[tuple[LoadPoint, int], float] = field(default_factory=dict, init=False)
    _worked: dict[tuple[LoadPoint, int], Work] = field(default_factory=dict, init=False, repr=False)
    _drawn: dict[tuple[int, int, int], Floats] = field(default_factory=dict, init=False, repr=False)

    @property
    def undrafted(self) -> Posterior:
        """The distribution that describes a step without speculation, and prompts."""
        return self if self.bare is None else self.bare

    @property
    def impossible(self) -> tuple[Run, ...]:
        """Runs whose speed-up exceeds their tokens per block by more than noise."""
        return impossible(self.runs)

    @property
    def calibrated(self) -> bool:
        """Whether predicted probabilities of a gain can be trusted; true once drafts were run."""
        return self.prior.calibrated or any(place.gamma > 0 for place in self.draws(DRAWS).places)

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

    def medians(self, load: LoadPoint, gammas: Sequence[int]) -> Floats:
        """Returns the median of `plain` (γ = 0) or of the column of `ratios` for each γ."""
        if missing := [gamma for gamma in gammas if (load, gamma) not in self._medians]:
            middles = median(self._columns(load, missing)).tolist()
            self._medians.update(
                ((load, gamma), middle) for gamma, middle in zip(missing, middles, strict=True)
            )
        return np.array([self._medians[load, gamma] for gamma in gammas])

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
        medians = median(plain) - median(columns) - np.log(lengths)
        off = np.where(drafted, medians - median(draws), 0.0)
        return Forecast.drawn(draws + off)

    def modelled(self, load: LoadPoint, gammas: Sequence[int]) -> Floats:
        """Returns the median of the machine's own log ratios (see `ratios`), without deviations."""
        logs = np.log(seconds_of(self._works(load, [0, *gammas]), self.draws(DRAWS).logs))
        return median(logs[:, :1] - logs[:, 1:])

    def checking_ratio(self, load: LoadPoint, tokens: int) -> float:
        """Returns the most probable time to check `tokens` tokens over a plain step's time."""
        return self._over_plain(load, self.machine.checking_work(load, tokens))

    def drafting_ratio(self, load: LoadPoint, gamma: int) -> float:
        """Returns the most probable time to draft γ tokens over a plain step's time."""
        if (load, gamma) not in self._drafting:
            work = self.machine.drafting_work(load, gamma)
            self._drafting[load, gamma] = self._over_plain(load, work)
        return self._drafting[load, gamma]

    def _over_plain(self, load: LoadPoint, work: Work) -> float:
        plain = seconds_of(self.machine.plain_work(load), self.logs)
        return float(seconds_of(work, self.logs) / plain)

    def _columns(self, load: LoadPoint, gammas: Sequence[int]) -> Floats:
        """Returns draws of `plain` (γ = 0) and `ratios`, shape (draws, n).

        A column does not depend on the other γ, so that every caller has the same numbers.
        """
        known = self._known.setdefault(load, {})
        missing = sorted({*gammas} - {0} - known.keys())
        if missing or 0 not in known:
            every = [0, *missing]
            values, allowed = self._laws(load, every, self.draws(DRAWS))
            wide = {*np.array(every)[values.std(axis=1) > _WIDE].tolist()}
            if self.bare is not None:
                known[0] = self.bare.plain(load)
                wide -= {0}
            some = sorted({0, *wide})
            many = self._laws(load, some, self.draws(WIDE))[1] if wide else allowed
            updated = every if self.bare is None else missing
            rising = [
                many(some.index(gamma)) if gamma in wide else allowed(every.index(gamma))
                for gamma in updated
            ]
            free = values[len(every) - len(updated) :]
            known.update(zip(updated, conditioned(free, rising), strict=True))
        return np.stack([known[gamma] for gamma in gammas]).T

    def _laws(
        self, load: LoadPoint, gammas: Sequence[int], draws: Draws
    ) -> tuple[Floats, Callable[[int], Floats]]:
        """Returns draws of `plain` and `ratios`, and maps a row to those that physics allows.

        Draws have shape (n, draws). Those allowed rise; where there is none, all take the bound.
        gammas: 0, and then others.
        """
        # Runs, or passes that are read again, replace the bound of the data sheet.
        bounded = not self.runs and self.machine.rejected is None
        least = self.machine.least_seconds(load) if bounded else 0.0
        lowest = np.log(least) if least > 0 else -np.inf
        laws = self._free(load, gammas, draws)
        np.subtract(laws[0], laws[1:], out=laws[1:])
        physical = laws[0] >= lowest
        every = bool(physical.all())

        def allowed(row: int) -> Floats:
            rising = np.sort(laws[row] if every else laws[row, physical])
            if row > 0:  # a block is no faster than a step
                rising = rising[: np.searchsorted(rising, 0.0, side="right")]
            return rising if len(rising) > 0 else np.array([0.0 if row > 0 else lowest])

        return laws, allowed

    def _free(self, load: LoadPoint, gammas: Sequence[int], draws: Draws) -> Floats:
        """Returns draws of log seconds of a step or block at each γ, shape (n, draws)."""
        loads = list(dict.fromkeys(place.load for place in draws.places))
        group, count = loads.index(load) if load in loads else len(loads), len(draws.scales)
        # They do not depend on a load without runs, of which a schedule has many.
        if left := [gamma for gamma in gammas if (group, count, gamma) not in self._drawn]:
            scales = np.array(self.prior.jumps)[draws.scales, 0]
            columns = drawn([Place(load, gamma) for gamma in left], group, scales, self.prior)
            self._drawn.update(((group, count, gamma), row.astype(draws.precision))
                               for gamma, row in zip(left, columns.T, strict=True))  # fmt: skip
        works = self._works(load, gammas).astype(draws.precision)
        seconds = works[:, :-1] @ draws.parameters.T
        seconds += works[:, -1:]
        np.log(seconds, out=seconds)
        for row, gamma in zip(seconds, gammas, strict=True):
            row += self._drawn[group, count, gamma]
        if load in loads:
            shared = covariance([Place(load, gamma) for gamma in gammas], draws.places, self.prior)
            for scale, matrix in enumerate(shared):
                these = draws.scales == scale
                seconds[:, these] += matrix @ draws.factors[these].T
        return seconds

    def _works(self, load: LoadPoint, gammas: Sequence[int]) -> Work:
        for gamma in gammas:
            if (load, gamma) not in self._worked:
                self._worked[load, gamma] = self.machine.token_work(load, gamma, 1.0)
        return np.array([self._worked[load, gamma] for gamma in gammas])
