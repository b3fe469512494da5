"""Chooses a draft length when speed-ups are uncertain, and the run that would help most."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from math import log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.choice.odds import OPEN
from simulator.numerics.intervals import Forecast

# A smaller γ, or one that was run, is preferred if its speed-up is lower by at most this share.
NEAR = 0.01
# Least probability of a gain at which speculation is advised. Below one half, a loss is likelier
# than a gain. `benchmarks/published_advice.py` prints the speed lost with other values.
THRESHOLD = 0.5
# If probabilities are not calibrated for a kind of draft, the decision is open from OPEN up to this
# one. Below OPEN a run gains less than WORTH on public loads (`benchmarks/published_advice.py`).
UNDECIDED = 0.9
# A γ is run only if its probability of being better is at least 5 %: its mean is at most this many
# standard deviations below the advised γ.
POSSIBLE = 1.6449
WORTH = 0.01  # smallest expected gain of speed, as a share, for which a run is proposed
REPEAT = 0.01  # standard deviation of the logarithm of one run's speed
_NOTHING = 1e-12  # deviations below this are rounding errors
_quadrature = cache(np.polynomial.hermite_e.hermegauss)
# Maps the longest γ with observed drafts to the largest γ that may be advised.
Reach = Callable[[int], int]


class NextRun(NamedTuple):
    """The proposed measurement: the run with the largest expected benefit.

    gamma: draft length to run; 0 is the baseline (no speculation).
    gain: expected log speed of the advice after the run, less the log speed of today's advice.
    rival: draft length that `gamma` competes with to be advised; 0 is no speculation.
    """

    gamma: int
    gain: float
    rival: int

    @property
    def gain_percent(self) -> float:
        """Expected gain of speed in per cent."""
        return 100 * float(np.expm1(self.gain))


@dataclass(frozen=True, slots=True)
class Advice:
    """The decision among candidate draft lengths.

    gamma: advised draft length. 0: do not speculate, or not before `test_gamma` is measured.
    named: the draft length to use if any is used: the smallest whose speed is within `near` of the
      fastest, of those that were run and gain if there are any; 0 if there is no candidate.
    speed_up: speed-up of `gamma` over no speculation, above 0: its median, or what was measured.
    best: the draft length with the largest median speed-up; 0 if that is not above 1.
    gain_probability: probability in [0, 1] that `named` is faster than no speculation; None if the
      speed-ups are exact.
    certain: whether the speed-up of `named` exceeds 1 with a probability above 95 %.
    undecided: whether `named` must be measured before a decision, because predicted probabilities
      from 0.4 to 0.9 are not reliable for this kind of draft.
    measured: whether `named` was run, and gains.
    next_run: the proposed next run; None if no run is worth its time.

    Example:
      >>> law = Forecast.normal(np.log([1.4, 1.7, 1.75]), 0.01 * np.ones((3, 3)))
      >>> advise(np.array([1, 2, 3]), law).gamma
      3
    """

    gamma: int
    named: int
    best: int
    gain_probability: float | None
    certain: bool
    undecided: bool = False
    measured: bool = False
    next_run: NextRun | None = None
    speed_up: float = 1.0

    @property
    def test_gamma(self) -> int | None:
        """The draft length to measure before a decision; None if the decision is made."""
        return self.named if self.undecided else None


def advise(
    gammas: NDArray[np.int64],
    law: Forecast,
    *,
    near: float = NEAR,
    worth: float | None = WORTH,
    repeat: float = REPEAT,
    calibrated: bool = True,
    tried: Collection[int] | None = None,
    reach: Reach | None = None,
) -> Advice:
    """Returns the decision among candidate draft lengths, and the proposed next run.

    Candidates are ranked by their median speed-up. The mean speed-up would reward uncertainty.
    Among those within `near` of the fastest, one that was run and gains is advised first. If the
    advised γ was not run, it is the next run.

    gammas: candidates, each at least 1, rising, shape (n,).
    law: joint distribution of the candidates' log speed-ups over no speculation.
    near: a smaller γ, or one that was run, is preferred to the best if its speed-up is lower by at
      most this share.
    worth: smallest expected gain of log speed for which a next run is proposed; None: propose none.
    repeat: standard deviation of the logarithm of one run's speed.
    calibrated: whether predicted probabilities of a gain match observed frequencies.
    tried: each γ that was run; 0 is the baseline. None: propose no next run.
    reach: maps the longest γ with observed drafts to the largest γ that may be advised; None: all.
    """
    count, margin = len(gammas), -log1p(-near)
    if law.medians.shape != (count,):
        raise ValueError(f"law must be of {count} gammas, got medians of shape {law.medians.shape}")
    known = [gamma for gamma in tried or () if gamma > 0]
    timed = known if tried is not None and 0 in tried else []
    able = np.ones(count, dtype=bool) if reach is None else gammas <= reach(max(known, default=0))
    if not able.any():
        return Advice(0, 0, 0, None, certain=False)
    medians = np.where(able, law.medians, -np.inf)
    top = int(medians.argmax())
    near_best = medians >= medians[top] - margin
    # A gain that does not exceed its doubt was not measured.
    ran = np.isin(gammas, timed) if timed else np.zeros(count, dtype=bool)
    gained = near_best & ran & (medians > law.deviation)
    measured, likely = bool(gained.any()), int(near_best.argmax())
    at = int(gained.argmax()) if measured else likely
    probability = float(law.only(np.arange(count) == at).exceeds(1.0)[0])
    undecided = not calibrated and not measured and OPEN <= probability <= UNDECIDED
    # A gain of at most `near` is not worth a draft.
    gains = probability >= THRESHOLD and float(medians[top]) > margin
    # Index in [0, *gammas], where 0 is no speculation.
    advised = at + 1 if (gains or measured) and not undecided else 0
    following = None
    if tried is not None and worth is not None:
        following = _next_run(
            gammas, law, (advised, likely + 1), tried, reach, (margin, worth, repeat)
        )
    return Advice(
        gamma=int(gammas[at]) if advised else 0,
        named=int(gammas[at]),
        best=int(gammas[top]) if medians[top] > 0 else 0,
        gain_probability=probability if float(law.deviation.max()) > _NOTHING else None,
        certain=bool(law.interval()[0][at] > 1),
        undecided=undecided,
        measured=measured,
        next_run=following,
        speed_up=float(np.exp(law.medians[at])) if advised else 1.0,
    )


def _next_run(
    gammas: NDArray[np.int64],
    law: Forecast,
    places: tuple[int, int],
    tried: Collection[int],
    reach: Reach | None,
    limits: tuple[float, float, float],
) -> NextRun | None:
    """Returns the run whose outcome improves the decision most; None if none is worth its time.

    Knowledge gradient (Frazier, Powell and Dayanik 2009): a run of γ' changes the medians m to m +
    s·Z, where Z is standard normal and s_γ = Cov(γ, γ') over the outcome's standard deviation. The
    advice a(m) follows the rule of `advise`: the smallest γ within `near` of the largest, of those
    that were run, γ' included, if there are any. The gain is E[(m + s·Z) at a(m + s·Z)] less m at
    the γ that is advised without the run, by Gauss-Hermite quadrature. The baseline is run first.
    An advised γ that was not run is run next, even if that gains nothing.

    places: indices in the list [0, *gammas] of `Advice.gamma`, and of the smallest γ whose median
      is within `near` of the largest, measured or not.
    limits: `near` of `advise` as a logarithm, and its arguments `worth` and `repeat`.
    """
    (advised, likely), (margin, worth, repeat) = places, limits
    every = np.concatenate([[0], gammas])
    medians = np.concatenate([[0.0], law.medians])
    covariance = np.zeros((len(every), len(every)))
    covariance[1:, 1:] = law.covariance
    points, weights = _quadrature(40)
    weights = weights / weights.sum()
    steps = covariance / np.sqrt(np.diag(covariance) + repeat**2)
    # Rows: candidates for the run; columns: γ; depth: the run's outcome.
    rows = np.arange(len(every)) if 0 in tried else np.array([likely])
    after = medians[None, :, None] + steps.T[rows, :, None] * points
    longest = max(tried, default=0)
    most = [every[-1] if reach is None else reach(max(gamma, longest)) for gamma in every.tolist()]
    open_to = (every <= np.array(most)[rows, None])[..., None]
    highest = np.where(open_to, after, -np.inf).max(axis=1, keepdims=True)
    near_best = open_to & (after >= highest - margin)
    ran = (np.isin(every, [*tried]) | (every == every[rows, None]))[..., None] & (after > 0)
    of_runs = near_best & ran
    near_best = np.where(of_runs.any(axis=1, keepdims=True), of_runs, near_best)
    chosen = near_best.argmax(axis=1)
    values = np.take_along_axis(after, chosen[:, None], axis=1)[:, 0]
    gains = values @ weights - medians[advised]
    if 0 not in tried:
        return NextRun(0, float(gains[0]), int(every[likely]))
    limit = max(longest + 2, 2 * longest) if longest > 0 else int(most[0])
    new = ~np.isin(every, list(tried)) & (every <= limit)
    # Only a γ that may be better itself is run, not a γ that only informs about others.
    apart = np.diag(covariance) + covariance[advised, advised] - 2 * covariance[advised]
    able = medians - medians[advised] > -POSSIBLE * np.sqrt(np.maximum(apart, 0.0)) - _NOTHING
    promised = np.where(new & able, gains, -1.0)
    first = int(promised.argmax())
    if advised > 0 and every[advised] not in tried:
        fastest = max(np.flatnonzero(np.isin(every, [*tried])), key=medians.__getitem__)
        return NextRun(int(every[advised]), max(float(gains[advised]), 0.0), int(every[fastest]))
    ahead = medians[likely] > medians[advised] + margin
    if ahead and promised[likely] >= max(worth, promised[first] / 2):
        first = likely  # a shorter step
    if promised[first] < worth:
        return None
    return NextRun(int(every[first]), float(gains[first]), int(every[advised]))
