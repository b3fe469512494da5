"""A plan: the speed-up at each draft length, from acceptance and cost, and the advised length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.advice import NEAR, REPEAT, WORTH, Advice, advise
from simulator.choice.curve import Curve, Doubt, curve_of, draftable, first_best
from simulator.choice.walltime import TIE
from simulator.cost.fitted.runs import USUAL_ERROR, Run, log_gains
from simulator.cost.pricing import Pricing
from simulator.numerics.arguments import integer, non_negative

DEFAULT_MAX_GAMMA = 32
# Largest γ in a plan: longer drafts are of no use, and the table would be too long to read.
MOST_GAMMA = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Speed-ups that follow from an acceptance and a cost.

    acceptance, price: the inputs of the plan.
    c_hat: operations of one draft step over the operations of one target step.
    near: largest loss of log speed-up at which a smaller γ is preferred to the best γ.
    curve: all γ from 1 to the largest considered.
    allowed: which γ of the curve the draft can draft and the server can run, shape (n,).
    candidates: every γ that may be advised: allowed, within the acceptance's `most_gamma`, and, if
      any γ has a measured speed-up, one of these.
    gamma: the γ that the caller gave, else optimal_gamma.
    at: the curve at `gamma` only; None at γ = 0, where speed-up and tokens are 1.
    optimal_gamma: the γ with the largest speed-up; 0 if no γ gains.
    advice: the decision.
    cap_binds: whether a γ above the largest considered gains more.
    """

    acceptance: Acceptance
    price: Pricing
    c_hat: float
    near: float
    curve: Curve
    allowed: NDArray[np.bool_]
    candidates: NDArray[np.int64]
    gamma: int
    at: Curve | None
    optimal_gamma: int
    advice: Advice
    cap_binds: bool

    @property
    def alpha(self) -> float:
        """The acceptance rate α. From counts, it assumes i.i.d. acceptances."""
        return self.acceptance.alpha

    @property
    def advised_gamma(self) -> int:
        """The γ to run; 0: do not speculate, or not before a measurement."""
        return self.advice.gamma

    @property
    def expected_tokens(self) -> float:
        """Tokens per target call at `gamma`."""
        return 1.0 if self.at is None else float(self.at.expected_tokens[0])

    @property
    def improvement_factor(self) -> float:
        """Speed-up over no speculation at `gamma`."""
        return 1.0 if self.at is None else float(self.at.improvement_factor[0])

    @property
    def operations_factor(self) -> float:
        """Arithmetic operations at `gamma` over operations of the baseline."""
        return 1.0 if self.at is None else float(self.at.operations_factor[0])

    @property
    def baseline_tokens_per_second(self) -> float | None:
        """Tokens per second without speculation, all sequences; None if costs have no seconds."""
        cost = self.price.cost
        return self.price.batch / cost.baseline_seconds if cost.in_seconds else None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens per second of all sequences at `gamma`; None if costs have no seconds."""
        baseline = self.baseline_tokens_per_second
        return None if baseline is None else baseline * self.improvement_factor

    @property
    def gamma_near(self) -> int:
        """The smallest γ, 0 included, whose median speed is within `near` of the best."""
        return min(self.within(self.near))

    @property
    def gain_certain(self) -> bool | None:
        """Whether the advised γ's interval lies above 1; None if the speed-up is exact."""
        return self.advice.certain if self.curve.in_doubt else None

    @property
    def most_gamma(self) -> int | None:
        """The largest γ that the observations allow; None unless a larger γ seems faster."""
        most = self.acceptance.most_gamma
        if most is None or not self.allowed.any():
            return None
        means = np.where(self.allowed, self.curve.gains.mean, -np.inf)
        short = means[self.curve.gamma <= most].max(initial=-np.inf)
        return most if means.max() > max(short + self.near, self.near) else None

    def within(self, share: float) -> set[int]:
        """Returns each γ, 0 included, whose log speed-up is at most `share` below the best."""
        gammas, means = self.curve.gamma[self.allowed], self.curve.gains.mean[self.allowed]
        least = means.max(initial=0.0) - share - TIE
        return {*gammas[means >= least].tolist(), *([0] if least <= 0 else [])}

    def extrapolated_at(self, gamma: int) -> bool:
        """Returns whether acceptance or cost was only observed at γ smaller than `gamma`."""
        at = min(gamma, len(self.curve.gamma))
        return gamma > 0 and bool(self.curve.extrapolated[at - 1])


def plan(
    acceptance: Acceptance,
    price: Pricing,
    *,
    c_hat: float | None = None,
    gamma: int | None = None,
    max_gamma: int = DEFAULT_MAX_GAMMA,
    near: float = NEAR,
    doubt: Doubt | None = None,
    worth: float = WORTH,
) -> Plan:
    """Returns the plan of an acceptance and a cost (Leviathan et al. 2023, §3).

    c_hat: operations of one draft step over the operations of one target step; None uses c.
    gamma: the γ to evaluate, at least 1; None means the best γ.
    max_gamma: the largest γ considered, in 1..10,000.
    near: largest share of speed that a smaller γ may lose against the best γ, in [0, 1).
    doubt: covariance of measured speed-ups; None derives it from acceptance and cost.
    worth: smallest expected gain of speed, as a share, for which a further run is proposed.
    """
    cap = integer("max_gamma", max_gamma, at_least=1)
    share = float(non_negative("near", near))
    if share >= 1:
        raise ValueError(f"near must lie in [0, 1), got {share:g}")
    ratio = price.cost.c if c_hat is None else float(non_negative("c_hat", c_hat))
    if cap > MOST_GAMMA:
        raise ValueError(f"max_gamma must be at most {MOST_GAMMA}, got {cap}")
    gammas = np.arange(1, cap + 1)
    curve = curve_of(acceptance, price, gammas, c_hat=ratio, doubt=doubt)
    allowed = _runnable(price, gammas)
    best = first_best(gammas[allowed], curve.improvement_factor[allowed])
    chosen = best if gamma is None else _stated(gamma, price.multiple)
    most = acceptance.most_gamma
    candidates = allowed if most is None else allowed & (gammas <= most)
    timed = candidates & np.isin(gammas, price.timed)
    candidates = timed if timed.any() else candidates
    advised = partial(advise, near=share, worth=worth)
    if price.posterior is not None:
        advised = partial(
            advised,
            repeat=_repeat(price.own_runs),
            calibrated=price.posterior.calibrated,
            tried={run.gamma for run in price.own_runs},
            measured=_measured(price, price.posterior.runs, curve),
        )
    advice = advised(gammas[candidates], curve.gains.only(candidates))
    if gamma is not None and price.assumed_c is not None:
        # The stated γ most likely runs already, so its time costs least.
        runs = candidates & (gammas == gamma)
        first = advised(gammas[runs], curve.gains.only(runs)).next_run
        advice = advice if first is None else replace(advice, next_run=first)
    at = None
    if chosen > 0:
        at = curve_of(acceptance, price, np.array([chosen]), c_hat=ratio, doubt=doubt)
    cap_binds = False
    if allowed.any() and best == gammas[allowed][-1]:
        longer = np.arange(best + 1, best + price.multiple + 1)
        longer = longer[_runnable(price, longer)][:1]
        if len(longer) > 0:
            further = curve_of(acceptance, price, longer, c_hat=0.0).improvement_factor[0]
            cap_binds = bool(further > curve.improvement_factor[best - 1])
    return Plan(
        acceptance=acceptance,
        price=price,
        c_hat=ratio,
        near=share,
        curve=curve,
        allowed=allowed,
        candidates=gammas[candidates],
        gamma=chosen,
        at=at,
        optimal_gamma=best,
        advice=advice,
        cap_binds=cap_binds,
    )


def _runnable(price: Pricing, gammas: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns whether the draft can draft each γ, without crossing the limit of captured graphs."""
    able = draftable(gammas, price.multiple)
    return able if price.wall is None else able & ~price.wall.crossed(price.batch, gammas)


def _repeat(runs: Sequence[Run]) -> float:
    """Returns the standard deviation of the next run's outcome, estimated from the runs' errors."""
    usual = median(run.error for run in runs) if runs else 0.0
    return usual if usual > USUAL_ERROR else REPEAT


def _stated(gamma: int, multiple: int) -> int:
    chosen = integer("gamma", gamma, at_least=1)
    if chosen > MOST_GAMMA:
        raise ValueError(f"gamma must be at most {MOST_GAMMA}, got {chosen}")
    if not draftable(chosen, multiple):
        raise ValueError(
            f"gamma must be at most {multiple} or a multiple of it, the layers that draft, "
            f"got {chosen}"
        )
    return chosen


def _measured(
    price: Pricing, runs: Sequence[Run], curve: Curve
) -> Mapping[int, tuple[float, float]]:
    """Returns the log gain of each γ that was run at this load, and its standard deviation.

    If this load's costs are estimated from runs at other loads, returns the modelled gain of each γ
    that was run at all those loads.
    """
    if price.load is None or price.load.estimated is None:
        return price.own_gains
    each = [log_gains([run for run in runs if run.load == load]) for load in {r.load for r in runs}]
    laws = zip(curve.gains.mean.tolist(), curve.gains.deviation.tolist(), strict=True)
    ran = set.intersection(*map(set, each))
    return {gamma: law for gamma, law in enumerate(laws, start=1) if gamma in ran}
