"""Which γ to run and which to try next, of speed-ups in doubt."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# What a smaller γ may lose, besides not being significantly worse.
NEAR = 0.01
# One-sided: a doubt of 5 % that the other is better.
SIGNIFICANT = 1.6449
# A run has to promise this share of speed to be worth its while.
WORTH = 0.002
# What two runs of one setting differ by, in logarithms.
REPEAT = 0.01


@dataclass(frozen=True, slots=True)
class NextRun:
    """The run that would decide.

    gain: the share of speed that knowing its outcome is expected to bring.
    rival: the γ that it is tried against: the best one by now, or the second best.
    """

    gamma: int
    gain: float
    rival: int


@dataclass(frozen=True, slots=True)
class Advice:
    """What doubtful speed-ups lead to.

    gamma: what to draft if at all: the smallest γ that is not significantly worse than the best; 0
      where a loss is as likely as a gain. Which γ is best is surer than whether any gains: the
      doubts of all are shared.
    best: the γ of the largest mean, if only by a hair; 0 if that is below 1.
    certain: whether the 90 % interval of the best one's speed-up lies above 1.
    next_run: None where no run is worth its while.
    """

    gamma: int
    best: int
    certain: bool
    next_run: NextRun | None


def advise(
    gammas: NDArray[np.int64],
    mean: NDArray[np.float64],
    covariance: NDArray[np.float64],
    *,
    error: float = 0.0,
    tried: Collection[int] = (),
) -> Advice:
    """Returns the advice for speed-ups whose logarithms are normal.

    Args:
      gammas: candidates, each at least 1, rising, shape (n,).
      mean: of the logarithms of their speed-ups over γ = 0, shape (n,).
      covariance: of them, shape (n, n), what is common to all included.
      error: standard deviation of a further error that all of them share.

    Raises:
      ValueError: if the shapes do not agree.
    """
    count = len(gammas)
    if mean.shape != (count,) or covariance.shape != (count, count):
        raise ValueError(
            f"mean and covariance must be of {count} gammas, "
            f"got shapes {mean.shape} and {covariance.shape}"
        )
    top = int(mean.argmax())
    deviation = float(np.sqrt(covariance[top, top] + error**2))
    certain = bool(mean[top] - SIGNIFICANT * deviation > 0)
    smallest = next(index for index in range(count) if _good(index, top, mean, covariance))
    gains = bool(mean[top] > 0)
    total = np.zeros((count + 1, count + 1))
    total[1:, 1:] = covariance + error**2
    every = np.concatenate([[0], gammas])
    return Advice(
        gamma=int(gammas[smallest]) if gains else 0,
        best=int(gammas[top]) if gains else 0,
        certain=certain,
        next_run=_next_run(every, np.concatenate([[0.0], mean]), total, {0, *tried}),
    )


def _good(index: int, top: int, mean: NDArray[np.float64], covariance: NDArray[np.float64]) -> bool:
    """Whether a γ is near the best one, and not significantly worse."""
    behind = float(mean[top] - mean[index])
    apart = covariance[top, top] + covariance[index, index] - 2 * covariance[top, index]
    return behind <= min(NEAR, SIGNIFICANT * float(np.sqrt(max(apart, 0.0)))) or index == top


def _next_run(
    gammas: NDArray[np.int64],
    mean: NDArray[np.float64],
    covariance: NDArray[np.float64],
    tried: Collection[int],
) -> NextRun | None:
    """Returns the run of the best γ, and once it was run that of the largest knowledge gradient.

    Frazier, Powell and Dayanik 2009: a run is worth what its outcome adds to the best mean.

    After a run of γ' the means are m + s·Z, Z a standard normal and s_γ = Cov(γ, γ') over the
    outcome's standard deviation; what is gained is E[max m + s·Z] - max m, by Gauss and Hermite.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    outcome = np.sqrt(np.diag(covariance) + REPEAT**2)
    steps = covariance / outcome
    # Rows: candidates for the run; columns: the γ it tells of; depth: its outcome.
    after = mean[None, :, None] + steps.T[:, :, None] * points
    gains = after.max(axis=1) @ (weights / weights.sum()) - mean.max()
    new = np.array([gamma not in tried for gamma in gammas.tolist()])
    if not new.any():
        return None
    top = int(mean.argmax())
    chosen = top if new[top] else int(np.where(new, gains, -1.0).argmax())
    if chosen != top and gains[chosen] < WORTH:
        return None
    others = [index for index in range(len(mean)) if index != chosen]
    rival = top if top != chosen else max(others, key=lambda index: float(mean[index]))
    return NextRun(int(gammas[chosen]), float(gains[chosen]), int(gammas[rival]))
