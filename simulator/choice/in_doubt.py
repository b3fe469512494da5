"""A plan whose cost is in doubt: every γ with its interval, the advice, the run to try next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.advice import Advice, advise
from simulator.choice.gain import draftable
from simulator.cost.machine import Drafting, LoadPoint
from simulator.cost.posterior import Forecast, Posterior
from simulator.numerics.arguments import integer

# The interval that is printed holds this share.
SHARE = 0.9
# Beyond, lengths of runs tell too little.
DEFAULT_MAX_GAMMA = 16


@dataclass(frozen=True, slots=True)
class Range:
    """What is expected of each γ, and the interval that holds 90 %; shape (n,) each.

    low, middle, high: quantiles of 5, 50 and 95 %.
    """

    low: NDArray[np.float64]
    middle: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, law: Forecast, *, scale: float = 1.0) -> Range:
        """Returns the interval of a law, times a unit."""
        low, middle, high = (
            scale * law.quantile(share) for share in ((1 - SHARE) / 2, 0.5, (1 + SHARE) / 2)
        )
        return cls(low, middle, high)


@dataclass(frozen=True, slots=True)
class DoubtfulPlan:
    """A choice of γ where the cost, and perhaps the acceptance, is in doubt.

    gamma: 1 to the largest considered, shape (n,).
    lengths: tokens a block, shape (n,).
    speed_up: over the target alone.
    gain_probability: that it is above 1, shape (n,).
    milliseconds: between two tokens of one sequence.
    baseline_milliseconds: the same of the target alone, one value each.
    advice: which γ to run, and which to try next.
    evidence: how many runs it rests on.
    """

    gamma: NDArray[np.int64]
    lengths: NDArray[np.float64]
    speed_up: Range
    gain_probability: NDArray[np.float64]
    milliseconds: Range
    baseline_milliseconds: Range
    advice: Advice
    evidence: int


def plan_in_doubt(
    posterior: Posterior,
    acceptance: Acceptance,
    load: LoadPoint,
    *,
    max_gamma: int = DEFAULT_MAX_GAMMA,
    multiple: int = 1,
) -> DoubtfulPlan:
    """Returns what a cost in doubt and an acceptance lead to.

    Args:
      posterior: of the deployment's cost.
      acceptance: how often drafts stand; its own doubt counts, too.
      load: what is served.
      max_gamma: the largest γ considered, at least 1.
      multiple: as in `simulator.choice.gain.draftable`.

    Raises:
      ValueError: if max_gamma is out of range.
    """
    gammas = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
    logs, doubt = acceptance.log_lengths(gammas)
    lengths = np.exp(logs)
    draftings = [Drafting(gamma) for gamma in gammas.tolist()]
    gains = posterior.speed_ups(load, draftings, lengths.tolist()).blurred(doubt)
    possible = draftable(gammas, multiple)
    times = posterior.seconds_per_token(load, draftings, lengths.tolist()).blurred(doubt)
    return DoubtfulPlan(
        gamma=gammas,
        lengths=lengths,
        speed_up=Range.of(gains),
        gain_probability=gains.exceeds(1.0),
        milliseconds=Range.of(times, scale=1e3),
        baseline_milliseconds=Range.of(posterior.seconds_per_token(load, [None], [1.0]), scale=1e3),
        advice=advise(
            gammas[possible],
            gains.only(possible),
            tried=[run.gamma for run in posterior.runs if run.load == load],
        ),
        evidence=len(posterior.runs),
    )
