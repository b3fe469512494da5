"""Forecasts for every γ at one load, from runs and prior knowledge, and the next run to make."""

from collections.abc import Callable, Sequence

import numpy as np

from engines.tuning.tuned import Advised
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import from_counts
from simulator.choice.curve import baseline_seconds, token_seconds
from simulator.choice.plan import plan
from simulator.cost.fitted.by_batch import costs_of_runs
from simulator.cost.fitted.forecast import Forecast
from simulator.cost.fitted.machine import LoadPoint
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.runs import Run
from simulator.cost.pricing import Pricing

# A longer γ is run if the longest one so far is faster than all shorter ones by this share.
RISING = 0.02
# From runs to what is known of a server's cost.
Costs = Callable[[Sequence[Run]], Posterior]
# A median and its interval.
Value = tuple[float, float, float]


class Outlook:
    """Forecasts for every γ from 1 to the longest, at one load.

    advice: the advice on the γ to run.
    best_run: the best γ that ran; 0 if no draft has run.
    next_gamma: the γ to measure next; None if no run is worth its time.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        load: LoadPoint,
        *,
        longest: int,
        worth: float,
        costs: Costs = costs_of_runs,
    ) -> None:
        """Computes the forecasts of every γ from the runs, and which γ to measure next.

        Args:
          runs: runs at any load. All of them give acceptance; runs at this load give the cost.
          load: the load to forecast.
          longest: the largest γ considered, at least 1.
          worth: smallest expected gain of speed, as a share, for a further run.
          costs: maps runs to a posterior of costs.
        """
        acceptance = from_counts(
            [
                Accepted(run.gamma, run.length, run.rates, run.drafts, run.load.context)
                for run in runs
                if run.gamma > 0
            ]
        )
        own = [run for run in runs if run.load == load]
        price = Pricing.of_doubt(costs(own), load)
        planned = plan(acceptance, price, max_gamma=longest, worth=worth)
        self.load, self.longest, self.advice = load, longest, planned.advice
        self._gains, self._plain = planned.curve.gains, baseline_seconds(price)
        self._times = token_seconds(acceptance, price, np.arange(1, longest + 1))
        following, tried = self.advice.next_run, {run.gamma for run in own}
        ran = [gamma for gamma in tried - {0} if gamma <= longest]
        best = max(ran, key=lambda gamma: self.gain(gamma)[0], default=0)
        self.best_run = self.advice.named if self.advice.named in ran else best
        self.next_gamma = None if following is None else following.gamma
        most = max(tried, default=0)
        reach = min(max(most + 2, 2 * most), longest)
        if not tried - {0}:
            # Even at low odds: a draft that gains would never be found otherwise.
            self.next_gamma = self.advice.named
        elif planned.most_gamma is not None:
            # Longer drafts promise more than may be advised without a run of one.
            means = self._gains.mean[:reach]
            ahead = float(means.max()) - float(means[max(self.advice.named - 1, 0)])
            if ahead >= worth and int(means.argmax()) + 1 not in tried:
                self.next_gamma = int(means.argmax()) + 1
        if self.next_gamma is None and self.advice.gamma > most:
            self.next_gamma = self.advice.gamma  # nothing beyond the runs is advised unmeasured
        elif self.next_gamma is None and reach > most and _rising(own):
            self.next_gamma = reach  # forecasts beyond the runs are less exact than the runs

    def milliseconds(self, gamma: int) -> Value:
        """Returns the forecast time per token at a γ; 0: the baseline."""
        law, at = (self._plain, 0) if gamma == 0 else (self._times, gamma - 1)
        middle, low, high = _value(law, at)
        return 1e3 * middle, 1e3 * low, 1e3 * high

    def gain(self, gamma: int) -> Value:
        """Returns the forecast speed-up at a γ; 0: the baseline."""
        return (1.0, 1.0, 1.0) if gamma == 0 else _value(self._gains, gamma - 1)

    def advised(self, gamma: int, measured: float | None) -> Advised:
        """Returns a γ for the file; measured: milliseconds per token in the γ's own run."""
        middle, low, high = self.gain(gamma)
        return Advised(
            concurrency=self.load.batch,
            gamma=gamma,
            improvement_factor=middle,
            improvement_factor_low=low,
            improvement_factor_high=high,
            gain_probability=self.advice.gain_probability,
            ms_per_token=measured,
        )


def _rising(runs: Sequence[Run]) -> bool:
    """Returns whether the longest γ ran fastest, by RISING over every shorter γ."""
    speeds = {run.gamma: run.length / run.step_seconds for run in runs}
    last = speeds.pop(max(speeds))
    return len(speeds) > 1 and last >= (1 + RISING) * max(speeds.values())


def _value(law: Forecast, at: int) -> Value:
    low, middle, high = (float(each[at]) for each in law.interval())
    return middle, low, high
