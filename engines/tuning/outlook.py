"""Forecasts for every γ at one load, from runs and prior knowledge, and the next run to make."""

from collections.abc import Callable, Container, Sequence
from functools import cached_property, lru_cache, partial
from math import exp, hypot, inf, log

import numpy as np
from msgspec.structs import replace

from engines.tuning.advised import Advised, Declined, NotRun
from engines.tuning.tuned import Tuned
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import FromCounts, from_counts
from simulator.choice.curve import baseline_seconds, token_seconds
from simulator.choice.plan import plan
from simulator.cost.fitted.by_batch import posterior_of_runs
from simulator.cost.fitted.fit import ParametricCost
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.runs import LoadPoint, Run
from simulator.numerics.intervals import Forecast, deviations

# A longer γ is run if the longest one so far is faster than all shorter ones by this share.
RISING = 0.02
# Standard deviation of the logarithmic difference between the speeds of two γ near the best that
# were run, before their runs. Chosen on simulations that `benchmarks/further_runs.py` lacks.
ALIKE = 0.015
# Returns the estimated cost of a server from its runs at a load, and the load.
Costs = Callable[[Sequence[Run], LoadPoint], Posterior]
# A median and its interval.
Value = tuple[float, float, float]


class Outlook:
    """Forecasts for every γ from 1 to the longest, at one load (context length and batch size).

    best_run: the best of the measured γ; 0 if none above 0 was measured.
    next_gamma: the γ to measure next; None if no run is worth its time.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        load: LoadPoint,
        *,
        longest: int,
        worth: float,
        costs: Costs | None = None,
    ) -> None:
        """Computes the forecasts.

        runs: runs at any load. All of them give acceptance; runs at this load give the cost.
        longest: the largest γ considered, at least 1.
        worth: smallest expected relative gain of speed for which a further run is made.
        costs: estimates the cost from runs and a prior; None: a vague prior is used.
        """
        counted = tuple(
            Accepted(run.gamma, run.length, run.rates, run.drafts, run.load.context)
            for run in runs
            if run.gamma > 0
        )
        self._acceptance = _acceptance(counted)
        at_load = [run for run in runs if run.load == load]
        posterior = posterior_of_runs(at_load) if costs is None else costs(at_load, load)
        self._cost, self._worth = ParametricCost(posterior, load), worth
        self._plan = partial(plan, self._acceptance, self._cost, max_gamma=longest)
        planned = self._plan(worth=worth)
        self.load, self.longest, self.advice = load, longest, planned.advice
        self._gains = planned.curve.gains
        used = [run for run in at_load if run.gamma not in posterior.left_out(load)]
        ran = [run.gamma for run in used if 0 < run.gamma <= longest]
        self._ran = sorted({run.gamma for run in used if run.gamma <= longest})
        self._tried = {run.gamma for run in at_load}
        best = max(ran, key=lambda gamma: self.gain(gamma)[0], default=0)
        self.best_run = self.advice.named if self.advice.named in ran else best
        following = self._next(used, beyond=planned.most_gamma is not None)
        self.next_gamma = None if following in self._tried else following

    def _next(self, at_load: Sequence[Run], *, beyond: bool) -> int | None:
        """Returns the γ to measure after runs at this load; None if none is worth its time.

        at_load: runs at this load, without impossible ones.
        beyond: whether a γ above the largest counted position has the best forecast.
        """
        most = max((run.gamma for run in at_load), default=0)
        if most == 0:
            return self.advice.named  # even at low odds: else a draft that gains is never found
        following, reach = self.advice.next_run, min(max(most + 2, 2 * most), self.longest)
        speeds = {run.gamma: run.length / run.step_seconds for run in at_load}
        last = speeds.pop(most)
        rising = len(speeds) > 1 and last >= (1 + RISING) * max(speeds.values())
        # Forecasts beyond the runs are less exact than the runs, and none is advised unmeasured.
        confirms = following is None or following.gamma == self.advice.gamma
        longer = confirms and (self.advice.gamma > most or rising)
        if reach > most and (beyond or longer):
            return reach
        return None if following is None else following.gamma

    @cached_property
    def _plain(self) -> Forecast:
        return baseline_seconds(self._cost)

    @cached_property
    def _times(self) -> Forecast:
        return token_seconds(self._acceptance, self._cost, np.arange(1, self.longest + 1))

    def milliseconds(self, gamma: int) -> Value:
        """Returns the forecast milliseconds per token at a γ; γ = 0: the baseline."""
        return _value(self._plain, 0, 1e3) if gamma == 0 else _value(self._times, gamma - 1, 1e3)

    def gain(self, gamma: int) -> Value:
        """Returns the forecast speed-up over the baseline at a γ; 1 at γ = 0."""
        return (1.0, 1.0, 1.0) if gamma == 0 else _value(self._gains, gamma - 1)

    def advised(
        self, gamma: int, measured: float | None, *, barred: Container[int] = ()
    ) -> Advised:
        """Returns the advice to run a γ.

        measured: milliseconds per token in the run of this γ. barred: γ that are never tried.
        """
        middle, low, high = self.gain(gamma)
        beside = [other for other in (gamma - 1, gamma + 1) if other not in barred]
        beside = [other for other in beside if 0 < other <= self.longest]
        return Advised(
            concurrency=self.load.batch,
            gamma=gamma,
            improvement_factor=middle,
            improvement_factor_low=low,
            improvement_factor_high=high,
            gain_probability=self.advice.gain_probability,
            ms_per_token=measured,
            faster_than={
                other: self._faster(gamma, other) for other in self._ran if other != gamma
            },
            not_run=tuple(
                self._not_run(other, gamma)
                for other in beside
                if measured is not None and gamma > 0 and other not in self._tried
            ),
            declined=None if measured is None else self._declined(),
        )

    def _not_run(self, gamma: int, advised: int) -> NotRun:
        middle, low, high = self.gain(gamma)
        return NotRun(
            gamma=gamma,
            improvement_factor=middle,
            improvement_factor_low=low,
            improvement_factor_high=high,
            faster_probability=self._faster(gamma, advised),
        )

    def _declined(self) -> Declined | None:
        """Returns the run that would come next; None if it is worth its time, or there is none."""
        best = None if self.next_gamma is not None else self._plan(worth=0.0).advice.next_run
        if best is None or best.gamma in self._tried or best.gain >= self._worth:
            return None
        worth_percent = 100 * self._worth
        return Declined(
            gamma=best.gamma, gain_percent=best.gain_percent, worth_percent=worth_percent
        )

    def _faster(self, gamma: int, other: int) -> float:
        """Returns the probability that a γ is faster than another one; 0 is the baseline."""
        if 0 in (gamma, other):
            gains = float(self._gains.exceeds(1.0)[max(gamma, other) - 1])
            return gains if other == 0 else 1.0 - gains
        near = ALIKE if {gamma, other} <= {*self._ran} else inf
        return self._gains.exceeds_other(gamma - 1, other - 1, spread=near)


@lru_cache(maxsize=16)  # The loads of a search share all counts.
def _acceptance(counted: tuple[Accepted, ...]) -> FromCounts:
    return from_counts(counted)


def _value(law: Forecast, at: int, scale: float = 1.0) -> Value:
    low, middle, high = (scale * float(bound[at]) for bound in law.interval())
    return middle, low, high


def with_threshold(tuned: Tuned, advised: Advised) -> Advised:
    """Returns the advice, or the fastest run with a threshold if its gain exceeds its error."""
    rows = [row for row in tuned.rows if row.concurrency == advised.concurrency and row.measured]
    times = {row.knobs: row.ms_per_token for row in rows if row.ms_per_token is not None}
    errors = {row.knobs: (row.error_percent or 0.0) / 100 for row in rows}
    plain, stopped = (advised.gamma, 0.0), [time for time in times if time[1] > 0]
    if plain not in times or not stopped:
        return advised
    best = min(stopped, key=times.__getitem__)
    gain = log(times[plain] / times[best])
    error = deviations() * hypot(errors[best], errors[plain])
    if gain <= error:
        return advised
    return replace(
        advised,
        gamma=best[0],
        p_min=best[1],
        faster_than={},
        improvement_factor=advised.improvement_factor * exp(gain),
        improvement_factor_low=advised.improvement_factor_low * exp(gain - error),
        improvement_factor_high=advised.improvement_factor_high * exp(gain + error),
        ms_per_token=times[best],
    )
