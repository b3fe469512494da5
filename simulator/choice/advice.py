"""Chooses a draft length when speed-ups are uncertain, and the run that would help most."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.intervals import Forecast

# A smaller γ is preferred if its log speed-up is at most this much below the best.
NEAR = 0.01
# Least probability of a gain at which speculation is advised. Below one half, a loss is likelier
# than a gain. `benchmarks/published_advice.py` prints the speed lost with other values.
THRESHOLD = 0.5
# If probabilities are not calibrated for a kind of draft, the decision is open between these two.
UNDECIDED = (0.4, 0.9)
# A measured γ is replaced by a γ whose median speed is higher by this share. To wait for a
# probability of 90 % instead costs twice as much speed (`benchmarks/published_advice.py`).
BEATEN = 0.03
# A γ is run only if its probability of being better is at least 5 %: its mean is at most this many
# standard deviations below the advised γ.
POSSIBLE = 1.6449
# Smallest expected gain of speed, as a share, for which a run is proposed.
WORTH = 0.002
# Standard deviation of the logarithm of one run's speed.
REPEAT = 0.01
# Deviations below this are rounding errors.
_NOTHING = 1e-12
# Log gains and their standard deviations, by γ.
LogGains = Mapping[int, tuple[float, float]]
NONE_MEASURED: LogGains = MappingProxyType({})


def certainty(probability: float) -> str:
    """Returns a phrase for the probability of a gain, for example "likely" or "undecided".

    The bounds only choose words; decisions use THRESHOLD and UNDECIDED.
    """
    if probability >= 0.95:
        return "almost certain"
    if probability >= 0.75:
        return "likely"
    return "undecided" if probability >= 0.4 else "a loss is likelier"


def percentage(probability: float) -> int:
    """Returns a probability in per cent, rounded so that `certainty` gives the same phrase."""
    shown = round(100 * probability)
    return shown if certainty(shown / 100) == certainty(probability) else shown - 1


class NextRun(NamedTuple):
    """The proposed measurement: the run with the largest expected benefit.

    gamma: draft length to run; 0 is the baseline (no speculation).
    gain: expected gain of log speed if the advice is revised after the run; 0.01 is about 1 %.
    rival: draft length that `gamma` competes with to be advised; 0 is no speculation.
    """

    gamma: int
    gain: float
    rival: int


@dataclass(frozen=True, slots=True)
class Advice:
    """The decision among candidate draft lengths.

    gamma: advised draft length. 0: do not speculate, or not before `test_gamma` is measured.
    named: the draft length to use if any is used: the smallest whose speed is within `near` of the
      fastest, or a measured one; 0 if there is no candidate.
    best: the draft length with the largest mean log speed-up; 0 if that mean is not above 0.
    gain_probability: probability in [0, 1] that `named` is faster than no speculation; None if the
      speed-ups are exact.
    certain: whether the speed-up of `named` exceeds 1 with a probability above 95 %.
    undecided: whether `named` must be measured before a decision, because predicted probabilities
      between 0.4 and 0.9 are not reliable for this kind of draft.
    measured: whether `named` was chosen because runs at this γ were faster than the baseline.
    next_run: the proposed next run; None if no run is worth its time.

    Example:
      >>> law = Forecast(np.log([1.4, 1.7, 1.75]), 0.01 * np.ones((3, 3)), 0.0)
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

    @property
    def test_gamma(self) -> int | None:
        """The draft length to measure before a decision; None if the decision is made."""
        return self.named if self.undecided else None


def advise(
    gammas: NDArray[np.int64],
    law: Forecast,
    *,
    near: float = NEAR,
    worth: float = WORTH,
    repeat: float = REPEAT,
    calibrated: bool = True,
    tried: Collection[int] | None = None,
    measured: LogGains = NONE_MEASURED,
) -> Advice:
    """Returns the decision among candidate draft lengths, and the proposed next run.

    Candidates are ranked by their mean log speed-up, which for a normal distribution gives the
    median speed-up. The mean speed-up would reward uncertainty.

    gammas: candidates, each at least 1, rising, shape (n,).
    law: joint distribution of the candidates' log speed-ups over no speculation.
    near: a smaller γ is preferred to the best if its log speed-up is lower by at most this number.
    worth: smallest expected gain of log speed for which a next run is proposed.
    repeat: standard deviation of the logarithm of one run's speed.
    calibrated: whether predicted probabilities of a gain match observed frequencies.
    tried: each γ that was run; 0 is the baseline. None: propose no next run.
    measured: measured log speed-up and its standard deviation, for each γ with runs of its own.
    """
    count = len(gammas)
    if law.mean.shape != (count,) or law.covariance.shape != (count, count):
        raise ValueError(
            f"mean and covariance must be of {count} gammas, "
            f"got shapes {law.mean.shape} and {law.covariance.shape}"
        )
    if count == 0:
        return Advice(0, 0, 0, None, certain=False)
    top = int(law.mean.argmax())
    kept = _measured_choice(gammas, law, measured, near)
    at = int((law.mean >= law.mean[top] - near).argmax()) if kept is None else kept
    probability = float(law.exceeds(1.0)[at])
    undecided = not calibrated and kept is None and UNDECIDED[0] <= probability <= UNDECIDED[1]
    # A gain of at most `near` is not worth a draft.
    likely = probability >= THRESHOLD and float(law.mean[top]) > near
    # Index in [0, *gammas], where 0 is no speculation.
    advised = at + 1 if (likely or kept is not None) and not undecided else 0
    places, limits = (advised, at + 1), (worth, repeat)
    return Advice(
        gamma=int(gammas[at]) if advised else 0,
        named=int(gammas[at]),
        best=int(gammas[top]) if law.mean[top] > 0 else 0,
        gain_probability=probability if float(law.deviation.max()) > _NOTHING else None,
        certain=bool(law.quantile(0.05)[at] > 1),
        undecided=undecided,
        measured=kept is not None,
        next_run=None if tried is None else _next_run(gammas, law, places, tried, limits),
    )


def _measured_choice(
    gammas: NDArray[np.int64], law: Forecast, measured: LogGains, near: float
) -> int | None:
    """Returns the index of the γ to advise because its measured log speed-up exceeds its error.

    Among such γ it is the smallest within `near` of the largest. None if there is no such γ,
    or if another γ has a median speed that is higher by more than the share BEATEN.
    """
    own = [(index, measured[g]) for index, g in enumerate(gammas.tolist()) if g in measured]
    gained = {index: gain for index, (gain, error) in own if gain > error}
    if not gained:
        return None
    at = min(index for index, gain in gained.items() if gain >= max(gained.values()) - near)
    least = max(float(law.mean[at]), gained[at]) + np.log1p(BEATEN)
    return None if law.mean.max() > least else at


def _next_run(
    gammas: NDArray[np.int64],
    law: Forecast,
    places: tuple[int, int],
    tried: Collection[int],
    limits: tuple[float, float],
) -> NextRun | None:
    """Returns the run whose outcome improves the decision most; None if none is worth its time.

    Knowledge gradient (Frazier, Powell and Dayanik 2009): a run of γ' changes the means m to m +
    s·Z, where Z is standard normal and s_γ = Cov(γ, γ') over the outcome's standard deviation. The
    gain is E[max m + s·Z] minus the mean of the advised γ, by Gauss-Hermite quadrature. The
    baseline is run first. The γ to run is at most the larger of G + 2 and 2 G, where G is the
    longest γ that was run.

    places: indices of `Advice.gamma` and `Advice.named` in the list [0, *gammas].
    limits: the arguments `worth` and `repeat` of `advise`.
    """
    (advised, named), (worth, repeat) = places, limits
    every = np.concatenate([[0], gammas])
    mean = np.concatenate([[0.0], law.mean])
    covariance = np.zeros((len(every), len(every)))
    # The error that all γ share adds to every covariance.
    covariance[1:, 1:] = law.covariance + law.error**2
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    steps = covariance / np.sqrt(np.diag(covariance) + repeat**2)
    # Rows: candidates for the run; columns: γ; depth: the run's outcome.
    after = mean[None, :, None] + steps.T[:, :, None] * points
    gains = after.max(axis=1) @ weights - mean[advised]
    if 0 not in tried:
        return NextRun(0, float(gains[named]), int(every[named]))
    longest = max(tried)
    reach = max(longest + 2, 2 * longest) if longest > 0 else int(every[-1])
    new = np.array([g not in tried and g <= reach for g in every.tolist()])
    # Only a γ that may be better itself is run, not a γ that only informs about others.
    apart = np.diag(covariance) + covariance[advised, advised] - 2 * covariance[advised]
    able = mean - mean[advised] > -POSSIBLE * np.sqrt(np.maximum(apart, 0.0)) - _NOTHING
    promised = np.where(new & able, gains, -1.0)
    # The γ with the largest mean is run before others are compared with it.
    top = int(mean.argmax())
    chosen = top if promised[top] >= worth else int(promised.argmax())
    if promised[chosen] < worth:
        # If the longest candidate is best, longer ones may be better. They become candidates after
        # a run of the advised γ, because candidates reach only a little beyond the runs.
        known = max(np.flatnonzero(np.isin(every, list(tried))).tolist(), key=mean.__getitem__)
        ahead = float(mean[advised] - mean[known])
        if top < len(gammas) or not longest < every[advised] <= reach or ahead < worth:
            return None
        return NextRun(int(every[advised]), ahead, int(every[known]))
    rival = advised
    if chosen == advised:
        # The γ that would be advised in its place after a bad outcome.
        winners = np.bincount(after[chosen].argmax(axis=0), weights, minlength=len(every))
        winners[chosen] = 0
        rival = int(winners.argmax())
    return NextRun(int(every[chosen]), float(gains[chosen]), int(every[rival]))
