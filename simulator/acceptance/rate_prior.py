"""Prior of acceptance rates by position, for each kind of draft, and its fit to counts.

`benchmarks/published_lengths.py --fit` writes rate_priors.json from published lengths.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.accepted import Accepted
from simulator.numerics.arguments import Floats

_FILE = Path(__file__).with_name("rate_priors.json")
# Kinds of draft whose acceptance does not fall with the position: γ may be doubled.
_STEADY = ("model", "n-gram")


@dataclass(frozen=True, slots=True)
class RatePrior:
    """Normal prior of the logits of acceptance rates by position.

        logit r_i = a + b · log i + w(log i) + u_i

    r_i: probability that position i is accepted if all earlier positions are.

    first, change: means of a and b.
    covariance: covariance of a and b, shape (2, 2).
    walk: standard deviation of w at log i = 1; w is a Brownian motion that starts at i = 1.
    own: standard deviation of each u_i.
    """

    first: float
    change: float
    covariance: Floats
    walk: float
    own: float

    def law(self, longest: int) -> tuple[Floats, Floats]:
        """Returns mean and covariance of the logits of the rates at positions 1, …, longest."""
        place = np.log(np.arange(1, longest + 1))
        line = np.stack([np.ones(longest), place], axis=1)
        walked = self.walk**2 * np.minimum(place[:, None], place)
        apart = self.own**2 * np.eye(longest)
        return self.first + self.change * place, line @ self.covariance @ line.T + walked + apart


def rate_prior(draft_class: str | None, *, fitted: dict[str, Any] | None = None) -> RatePrior:
    """Returns the prior of a class of drafts.

    draft_class: a name in `simulator.cost.fitted.prior.DRAFTS`; others get the prior of all.
    fitted: the content of another rate_priors.json; None: the shipped file.
    """
    kinds = (_published() if fitted is None else fitted)["kinds"]
    values = kinds.get(draft_class, kinds["all"])
    return RatePrior(**{**values, "covariance": np.array(values["covariance"])})


def workload_spread() -> float:
    """Returns the standard deviation of the logit of α between published workloads."""
    return float(_published()["workloads"])


def most_gamma(draft_class: str | None, observed: int) -> int:
    """Returns the largest γ that may be advised if drafts were observed up to γ `observed`.

    It is `observed` + 2, or 2 · `observed` if that is larger and the draft is a model or n-grams.
    """
    return max(observed + 2, 2 * observed if draft_class in _STEADY else 0)


@cache
def _published() -> dict[str, Any]:
    priors: dict[str, Any] = json.loads(_FILE.read_text("utf-8"))
    return priors


# Rates differ from 0 and 1 by at least this.
LEAST = 1e-9
# The search ends after _STEPS steps, or once a step is shorter than _CLOSE in all directions.
_STEPS, _CLOSE = 100, 1e-8
# Pairs of counts and the logarithm of their context, minus the mean over all counts.
Placed = Sequence[tuple[Accepted, float]]


def most_probable(
    mean: Floats, law: Floats, data: Placed, measured: Floats, noise: Floats
) -> Floats:
    """Returns the most probable logits of rates, then their change with the context's logarithm.

    In u = L⁻¹ (x - m), with the prior's mean m and covariance P = L Lᵀ, and W = R^{-1/2}, it is

        argmin_u |u|² + |W (y - h(m + L u))|²,

    by Levenberg and Marquardt's steps d (Marquardt 1963) with J = W H L, H = dh/dx:

        (I + JᵀJ + λ diag(I + JᵀJ)) d = Jᵀ W (y - h) - u.

    λ is divided by 5 after a step that lowers the sum, and multiplied by 5 after any other, which
    is not taken. It is here since importing scipy.optimize takes five times what numpy takes.

    mean, law: m and P. measured, noise: logarithms y of the counted mean tokens per block, and R.
    """
    whole = np.linalg.cholesky(law + LEAST * np.eye(len(law)))
    weigh = np.linalg.inv(np.linalg.cholesky(noise))
    # L is lower triangular: no count depends on u of a position behind all counts, which stays 0.
    deepest = max((counted.gamma for counted, _ in data), default=0)
    used = [*range(min(deepest, len(law) - 1)), len(law) - 1]
    root, start = whole[np.ix_(used, used)], mean[used]
    normals, one = np.zeros(len(used)), np.eye(len(used))
    logs, slopes = log_lengths_of(start, data)
    misfit, damping = weigh @ (measured - logs), 1.0
    for _ in range(_STEPS):
        turned = weigh @ slopes @ root
        curvature = one + turned.T @ turned
        step = np.linalg.solve(curvature + damping * one * curvature, turned.T @ misfit - normals)
        logs, ahead = log_lengths_of(start + root @ (normals + step), data)
        missed = weigh @ (measured - logs)
        better = (
            missed @ missed + (normals + step) @ (normals + step)
            <= misfit @ misfit + normals @ normals
        )
        damping *= 0.2 if better else 5.0
        if better:
            normals, misfit, slopes = normals + step, missed, ahead
            if np.abs(step).max() < _CLOSE:
                break
    return np.asarray(mean + whole[:, used] @ normals)


def log_lengths_of(logits: Floats, data: Placed) -> tuple[Floats, Floats]:
    """Returns log modelled mean tokens per block, and its derivatives (`most_probable`)."""
    logs, slopes = [np.zeros(0)], [np.zeros((0, len(logits)))]
    for counted, away in data:
        rates = rates_of(logits[:-1] + away * logits[-1])
        tokens = 1 + np.cumsum(np.cumprod(rates))
        logs.append(np.log(tokens[np.minimum(counted.gammas, len(rates)) - 1]))
        slope = length_slopes(rates, counted.gammas)
        slopes.append(np.hstack([slope, away * slope.sum(axis=1, keepdims=True)]))
    return np.concatenate(logs), np.concatenate(slopes)


def length_slopes(rates: Floats, gammas: NDArray[np.int64]) -> Floats:
    """Returns d(log mean tokens per block) / d(logit of each rate), one row for each γ."""
    stands = np.cumprod(rates)
    total = np.cumsum(stands)
    before = total - stands
    reach = np.minimum(gammas, len(rates))
    behind = np.maximum(total[reach - 1][:, None] - before, 0.0)
    inside = np.arange(1, len(rates) + 1) <= reach[:, None]
    # The derivative of log r_i by its logit is 1 - r_i.
    return np.asarray(inside * behind * (1 - rates) / (1 + total[reach - 1])[:, None])


def rates_of(logits: Floats) -> Floats:
    # Bounded, since no count shows a rate within 1e-13 of 0 or 1.
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))))


def logits_of(rates: Floats) -> Floats:
    bounded = np.clip(rates, LEAST, 1 - LEAST)
    return np.asarray(np.log(bounded / (1 - bounded)))
