"""Plans: the speed-up at each draft length, from acceptance and cost, and the advised length."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import median

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.advice import NEAR, REPEAT, WORTH, Advice, Reach, advise
from simulator.choice.break_even import break_evens
from simulator.choice.curve import Covariance, Curve, CurvePoint, counted_runs, curve_of, first_best
from simulator.choice.kept import FastestRun, KeptRun, fastest_run, kept_run
from simulator.choice.walltime import TIE
from simulator.cost.c_by_sizes import assumed_c
from simulator.cost.cost import Cost
from simulator.cost.setting import CostSetting
from simulator.numerics.arguments import integer, non_negative

DEFAULT_MAX_GAMMA = 32
# Largest γ in a plan: longer drafts are of no use, and the table would be too long to read.
MOST_GAMMA = 10_000


@dataclass(frozen=True)
class Plan:
    """Speed-ups that follow from an acceptance and a cost.

    acceptance, cost: the inputs of the plan.
    c_hat: operations of one draft step over the operations of a target step.
    near: a smaller γ is preferred to the best γ if its speed-up is lower by at most this share.
    curve: speed-ups of all γ from 1 to max_gamma.
    allowed: whether the draft can draft, and the server can run, each γ of the curve, shape (n,).
    candidates: each allowed γ up to `Acceptance.most_gamma`; only `CostSetting.timed`, if any.
    at: the curve's numbers at the γ that the caller gave, else at optimal_gamma.
    optimal_gamma: the γ with the largest speed-up; 0 if no γ gains.
    cap_binds: whether the next γ above max_gamma would be faster than optimal_gamma.
    c_hat_is_c: whether c (a ratio of times) is used for c_hat (of operations), which is not known.
    only: the only γ above 0 that a schedule may use, if the user states one; None: any γ.
    notes: sentences for readers of the plan, which follow the notes of `Acceptance.source`.
    other: the plan for drafts that are sampled the other way, if a profile has both; else None.
    """

    acceptance: Acceptance
    cost: Cost
    c_hat: float
    near: float
    curve: Curve
    allowed: NDArray[np.bool_]
    candidates: NDArray[np.int64]
    at: CurvePoint
    optimal_gamma: int
    advice: Advice
    cap_binds: bool
    c_hat_is_c: bool = False
    only: int | None = None
    notes: tuple[str, ...] = ()
    other: "Plan | None" = None

    @property
    def setting(self) -> CostSetting:
        """The load of the cost, and its limits."""
        return self.cost.setting

    @property
    def gamma(self) -> int:
        return self.at.gamma

    @property
    def alpha(self) -> float:
        """The acceptance rate α. If it was estimated from counts, i.i.d. acceptance is assumed."""
        return self.acceptance.alpha

    @property
    def kept(self) -> KeptRun | None:
        """The run whose drafts ended early, if no γ of the curve is expected to beat it.

        All drafts of the curve have γ tokens, so that no row of it runs for such a run.
        """
        if not self.cost.own_runs:
            return None
        gain = self.point(self.advice.gamma).improvement_factor if self.advice.gamma > 0 else 1.0
        expected = self.cost.baseline_seconds / gain
        return kept_run(self.cost.own_runs, expected=expected, near=self.near)

    @property
    def advised_gamma(self) -> int:
        """The γ to serve, or to run next if it was not run (see `fastest_run`); 0: none."""
        return self.advice.gamma if self.kept is None else self.kept.run.gamma

    @property
    def fastest_run(self) -> FastestRun | None:
        """The fastest run, to go back to if the advised γ is slower; None if that was run."""
        advice = self.advice
        return fastest_run(self.cost.own_runs, self.curve, advice.test_gamma or advice.gamma)

    @property
    def place(self) -> tuple[int, int]:
        """Context and batch size of the plan's load, by which plans are sorted."""
        return self.setting.load.context if self.setting.load else 0, self.setting.batch

    @property
    def baseline_tokens_per_second(self) -> float | None:
        """Tokens per second without speculation, all sequences; None if costs have no seconds."""
        return self.setting.batch / self.cost.baseline_seconds if self.cost.in_seconds else None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens per second of all sequences at `gamma`; None if costs have no seconds."""
        baseline = self.baseline_tokens_per_second
        return None if baseline is None else baseline * self.at.improvement_factor

    @property
    def most_gamma(self) -> int | None:
        """The largest γ that observed drafts let us advise; None if no larger γ seems faster."""
        most = self.acceptance.most_gamma
        if most is None or not self.allowed.any():
            return None
        means = np.where(self.allowed, self.curve.gains.medians, -np.inf)
        short = means[self.curve.gamma <= most].max(initial=-np.inf)
        return most if means.max() > max(short, 0.0) - np.log1p(-self.near) else None

    @cached_property
    def break_evens(self) -> tuple[float | None, float | None]:
        """The acceptance rate, and the c, at which the speed-up is 1; None: no such value."""
        return break_evens(self.acceptance, self.cost, max_gamma=len(self.curve.gamma))

    def within(self, share: float) -> set[int]:
        """Returns each allowed γ, or 0, with a median speed-up at most `share` below the best."""
        gammas, means = self.curve.gamma[self.allowed], self.curve.gains.medians[self.allowed]
        least = means.max(initial=0.0) + np.log1p(-share) - TIE
        return {*gammas[means >= least].tolist(), *([0] if least <= 0 else [])}

    def extrapolated_at(self, gamma: int) -> bool:
        """Returns whether acceptance or cost was only observed at γ smaller than `gamma`."""
        return gamma > 0 and bool(self.curve.extrapolated[: gamma or None][-1])

    def point(self, gamma: int) -> CurvePoint:
        """Returns the curve's numbers at γ, or at the plan's `gamma` if the curve ends before γ."""
        return self.curve.point(gamma) if gamma <= len(self.curve.gamma) else self.at


def plan(
    acceptance: Acceptance,
    cost: Cost,
    *,
    c_hat: float | None = None,
    gamma: int | None = None,
    max_gamma: int = DEFAULT_MAX_GAMMA,
    near: float = NEAR,
    doubt: Covariance | None = None,
    worth: float = WORTH,
) -> Plan:
    """Returns the plan of an acceptance and a cost (Leviathan et al. 2023, §3).

    c_hat: operations of one draft step over the operations of one target step; None: c.
    gamma: the γ to evaluate, at least 1; None: the best γ.
    max_gamma: the largest γ considered, in 1..10,000.
    near: a smaller γ is preferred if it is slower than the best γ by at most this share, in [0, 1).
    doubt: maps γ, shape (n,), to the covariance of their log speed-ups, if the cost has no errors
      of its own; None: only errors of the acceptance count.
    worth: smallest expected gain of log speed for which a next run is proposed.
    """
    cap = integer("max_gamma", max_gamma, at_least=1)
    if (share := float(non_negative("near", near))) >= 1:
        raise ValueError(f"near must lie in [0, 1), got {share:g}")
    setting = cost.setting
    ratio = cost.c if c_hat is None else float(non_negative("c_hat", c_hat))
    stated = None if gamma is None else integer("gamma", gamma, at_least=1)
    for name, value in (("max_gamma", cap), ("gamma", stated or 0)):
        if value > MOST_GAMMA:
            raise ValueError(f"{name} must be at most {MOST_GAMMA}, got {value}")
    if stated is not None and not setting.drafts(stated):
        limit = f"{setting.multiple} or a multiple of it, the layers that draft"
        if setting.longest is not None and stated > setting.longest:
            limit = f"{setting.longest}, the longest draft"
        raise ValueError(f"gamma must be at most {limit}, got {stated}")
    gammas = np.arange(1, cap + 1)
    curve_at = partial(curve_of, acceptance, cost, c_hat=ratio, doubt=doubt)
    curve = curve_at(gammas)
    able = setting.allows(gammas)
    # A run that contradicts physics says nothing for its γ, which is then never the best.
    allowed = able & ~curve.impossible if (able & ~curve.impossible).any() else able
    best = first_best(gammas[allowed], curve.improvement_factor[allowed])
    at = curve.point(best) if stated is None else curve_at(np.array([stated])).point(stated)
    candidates = allowed if (most := acceptance.most_gamma) is None else allowed & (gammas <= most)
    timed = candidates & np.isin(gammas, setting.timed)
    candidates = timed if timed.any() else candidates
    advised = partial(advise, near=share, worth=worth)
    considered = candidates if cost.posterior is None else allowed
    if cost.posterior is not None:
        from simulator.cost.fitted.runs import USUAL_ERROR

        usual = median([run.error for run in cost.own_runs] or [0.0])
        advised = partial(
            advised,
            repeat=usual if usual > USUAL_ERROR else REPEAT,  # of a noisy server, its own noise
            calibrated=cost.posterior.calibrated,
            tried=_tried(cost),
            reach=_reach(acceptance),
        )
    advice = advised(gammas[considered], curve.gains.only(considered))
    notes: tuple[str, ...] = ()
    if cost.posterior is not None:
        from simulator.cost.fitted.contradictions import contradictions, other_lengths

        counted = counted_runs(acceptance, cost)
        others = [run for run in cost.own_runs if run not in counted]
        notes += contradictions(cost.posterior.runs)
        notes += other_lengths(others, acceptance.tokens_per_call)
    if gamma is not None and assumed_c(cost) is not None:
        # A run settles c. The stated γ probably runs already, so its time is the easiest to get.
        runs = candidates & (gammas == gamma)
        first = advised(gammas[runs], curve.gains.only(runs)).next_run
        advice = advice if first is None else replace(advice, next_run=first)
    cap_binds = False
    if allowed.any() and best == gammas[allowed][-1]:
        longer = np.arange(best + 1, best + setting.multiple + 1)
        longer = longer[setting.allows(longer)][:1]
        if len(longer) > 0:
            further = curve_at(longer).improvement_factor[0]
            cap_binds = bool(further > curve.improvement_factor[best - 1])
    parts = (curve, allowed, gammas[candidates], at, best, advice, cap_binds)
    return Plan(acceptance, cost, ratio, share, *parts, notes=notes, c_hat_is_c=c_hat is None)


def _tried(cost: Cost) -> set[int]:
    """Returns each γ that was run at this load, 0 for the baseline, without impossible runs.

    If costs are interpolated from other loads: each γ that was run at all of them.
    """
    known, load = cost.posterior, cost.setting.load
    assert known is not None
    if load is None or load.estimated is None:
        ruled_out = set() if cost.point is None else known.left_out(cost.point)
        return {run.gamma for run in cost.own_runs} - ruled_out
    loads = (known.measured(load) for load in {run.load for run in known.runs})
    return set.intersection(*({0, *gammas} for gammas in loads))


def _reach(acceptance: Acceptance) -> Reach | None:
    """Returns the largest γ that may be advised, by the longest γ that was run; None: any."""
    most, observed = acceptance.most_gamma, acceptance.observed_gamma
    if most is None:
        return None
    if observed is None or most <= observed:
        return lambda longest: most
    doubles = most > observed + 2
    return lambda longest: max(most, longest + 2, 2 * longest * doubles)
