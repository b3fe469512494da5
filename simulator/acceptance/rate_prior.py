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
    mean: Floats,
    law: Floats,
    data: Placed,
    measured: Floats,
    noise: Floats,
    near: Floats | None = None,
) -> Floats:
    """Returns the most probable logits of rates, then their change with the context's logarithm.

    In u = L⁻¹ (x - m), with the prior's mean m and covariance P = L Lᵀ, and W = R^{-1/2}, it is

        argmin_u |u|² + |W (y - h(m + L u))|²,

    by Levenberg and Marquardt's steps d (Marquardt 1963) with J = W H L, H = dh/dx:

        (I + JᵀJ + λ diag(I + JᵀJ)) d = Jᵀ W (y - h) - u.

    λ is divided by 5 after a step that lowers the sum, and multiplied by 5 after any other, which
    is not taken. It is here since importing scipy.optimize takes five times what numpy takes.

    mean, law: m and P. measured, noise: logarithms y of the counted mean tokens per block, shape
    (n,), and R, (n, n); of k problems with the same γ and contexts, (k, n) and (k, n, n).
    near: logits of the first rates, close to the most probable, where the search starts, shape (i,)
    or (k, i); None: m. From m it may end at another, less probable place.
    """
    whole = np.linalg.cholesky(law + LEAST * np.eye(len(law)))
    # L is lower triangular: no count depends on u of a position behind all counts, which stays 0.
    deepest = max((counted.gamma for counted, _ in data), default=0)
    used = [*range(min(deepest, len(law) - 1)), len(law) - 1]
    root, start = whole[np.ix_(used, used)], mean[used]
    weigh = np.linalg.inv(np.linalg.cholesky(noise if noise.ndim > 2 else noise[None]))
    counts, one = np.atleast_2d(measured), np.eye(len(used))
    logits = np.broadcast_to(mean, (len(counts), len(mean))).copy()
    left = np.arange(len(counts))

    def misfits(normals: Floats) -> tuple[Floats, Floats]:
        logs, slopes = log_lengths_of(start + normals @ root.T, data)
        misfit = weigh @ (counts - logs)[..., None]
        return misfit[..., 0], weigh @ slopes @ root

    normals, damping = np.zeros((len(left), len(used))), np.ones((len(left), 1))
    if near is not None:
        first = slice(near.shape[-1])
        from_mean = np.atleast_2d(near) - start[first]
        normals[:, first] = np.linalg.solve(root[first, first], from_mean.T).T
    misfit, turned = misfits(normals)
    for _ in range(_STEPS):
        curvature = one + turned.mT @ turned
        pull = (turned.mT @ misfit[..., None])[..., 0] - normals
        damped = curvature + damping[..., None] * one * curvature
        step = np.linalg.solve(damped, pull[..., None])[..., 0]
        missed, ahead = misfits(normals + step)
        better = _squares(missed, normals + step) <= _squares(misfit, normals)
        damping *= np.where(better, 0.2, 5.0)
        normals = np.where(better, normals + step, normals)
        misfit = np.where(better, missed, misfit)
        turned = np.where(better[..., None], ahead, turned)
        logits[left] = mean + normals @ whole[:, used].T
        # A step within rounding may lower the sum no more.
        on = np.abs(step).max(axis=1) >= _CLOSE
        if not on.any():
            break
        if not on.all():
            left, weigh, counts = left[on], weigh[on], counts[on]
            normals, damping, misfit, turned = normals[on], damping[on], misfit[on], turned[on]
    return logits if measured.ndim > 1 else logits[0]


def _squares(misfit: Floats, normals: Floats) -> Floats:
    return np.asarray((misfit**2).sum(-1, keepdims=True) + (normals**2).sum(-1, keepdims=True))


def log_lengths_of(logits: Floats, data: Placed) -> tuple[Floats, Floats]:
    """Returns log modelled mean tokens per block, and its derivatives (`most_probable`).

    logits: shape (n,), or (k, n) of k problems.
    """
    shape = logits.shape[:-1]
    logs, slopes = [np.zeros((*shape, 0))], [np.zeros((*shape, 0, logits.shape[-1]))]
    for counted, away in data:
        rates = rates_of(logits[..., :-1] + away * logits[..., -1:])
        tokens = 1 + np.cumsum(np.cumprod(rates, axis=-1), axis=-1)
        logs.append(np.log(tokens[..., np.minimum(counted.gammas, rates.shape[-1]) - 1]))
        slope = length_slopes(rates, counted.gammas)
        slopes.append(np.concatenate([slope, away * slope.sum(axis=-1, keepdims=True)], axis=-1))
    return np.concatenate(logs, axis=-1), np.concatenate(slopes, axis=-2)


def length_slopes(rates: Floats, gammas: NDArray[np.int64]) -> Floats:
    """Returns d(log mean tokens per block) / d(logit of each rate), one row for each γ.

    rates: shape (n,), or (k, n) of k problems.
    """
    stands = np.cumprod(rates, axis=-1)
    total = np.cumsum(stands, axis=-1)
    before = total - stands
    reach = np.minimum(gammas, rates.shape[-1])
    reached = total[..., reach - 1, None]
    behind = np.maximum(reached - before[..., None, :], 0.0)
    inside = np.arange(1, rates.shape[-1] + 1) <= reach[:, None]
    # The derivative of log r_i by its logit is 1 - r_i.
    return np.asarray(inside * behind * (1 - rates[..., None, :]) / (1 + reached))


def rates_of(logits: Floats) -> Floats:
    # Bounded, since no count shows a rate within 1e-13 of 0 or 1.
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))))


def logits_of(rates: Floats) -> Floats:
    bounded = np.clip(rates, LEAST, 1 - LEAST)
    return np.asarray(np.log(bounded / (1 - bounded)))
