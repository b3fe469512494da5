"""The speed-up of each γ from acceptance and cost, and the best γ."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.walltime import TIE
from simulator.cost.cost import Cost
from simulator.cost.fitted.runs import Run, pooled
from simulator.numerics.arguments import Floats, integer, integers
from simulator.numerics.intervals import Forecast


def speed_up(acceptance: Acceptance, cost: Cost, gamma: ArrayLike) -> Floats:
    """Returns the baseline's time per token over the time with speculation; 1 at γ = 0.

    For `Iid` and `Ratio` it is Theorem 8 of Leviathan et al. 2023 (`walltime`).
    gamma: drafted tokens per block, at least 0, shape (...).
    """
    length = integers("gamma", gamma)
    drafting = np.maximum(length, 1)
    factor = cost.baseline_seconds / acceptance.seconds_per_token(drafting, cost)
    return np.where(length == 0, 1.0, factor)[()]


def best_gamma(acceptance: Acceptance, cost: Cost, *, max_gamma: int) -> int:
    """Returns the smallest γ, at most max_gamma, of the largest speed-up; 0 if none exceeds 1."""
    gammas = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
    return first_best(gammas, speed_up(acceptance, cost, gammas))


def first_best(gammas: NDArray[np.int64], factors: Floats) -> int:
    """Returns the smallest γ with the largest speed-up (`factors`) above 1; 0 if no γ gains.

    All γ are compared, since curves may have any shape. Differences within rounding are ties.
    """
    best, factor = 0, 1.0
    for gamma, longer in zip(gammas.tolist(), factors.tolist(), strict=True):
        if longer > factor * (1 + TIE):
            best, factor = gamma, longer
    return best


# From γ, shape (n,), to a covariance of the logarithms of speed-ups, shape (n, n).
Gammas = NDArray[np.int64]
Covariance = Callable[[Gammas], Floats]
# Deviations below this are rounding errors.
_NOTHING = 1e-12


class CurvePoint(NamedTuple):
    """One point of a `Curve`, with the curve's fields; at γ = 0 (no speculation) all others are 1.

    low, high: ends of the speed-up's 90 % interval.
    """

    gamma: int = 0
    expected_tokens: float = 1.0
    improvement_factor: float = 1.0
    operations_factor: float = 1.0
    low: float = 1.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Curve:
    """Tokens per call and speed-up by γ, shape (n,) each.

    gamma: rising, at least 1.
    expected_tokens: tokens per target call.
    improvement_factor: speed-up over no speculation; the median if it is uncertain.
    operations_factor: operations per token over the baseline's (Leviathan et al. 2023, Theorem 10).
    extrapolated: whether acceptance or cost was only observed at smaller γ.
    beyond_graphs: whether a step is too large for the CUDA graphs that the server captured.
    gains: joint distribution of the log speed-ups.
    ran: speed-up that the runs at this load measured, as they are; NaN where there is none.
    impossible: whether that exceeds the tokens per block by more than noise. It is not used.
    log_lengths: logarithm of the tokens per block that count in the speed-up.
    baseline: median time between two tokens of a sequence without speculation, in the cost's unit.
    low, high: ends of each speed-up's 90 % interval.

    A row's numbers follow from `baseline` and `improvement_factor`: see `seconds`.
    """

    gamma: NDArray[np.int64]
    expected_tokens: Floats
    improvement_factor: Floats
    operations_factor: Floats
    extrapolated: NDArray[np.bool_]
    beyond_graphs: NDArray[np.bool_]
    gains: Forecast
    ran: Floats
    impossible: NDArray[np.bool_]
    log_lengths: Floats
    baseline: float

    @property
    def seconds(self) -> Floats:
        """Time between two tokens of a sequence: baseline / improvement_factor, shape (n,)."""
        return np.asarray(self.baseline / self.improvement_factor)

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Whether runs measured the speed-up at this load, and it is possible, shape (n,)."""
        return ~np.isnan(self.ran) & ~self.impossible

    @property
    def speed_up(self) -> Floats:
        """Speed-up over no speculation: improvement_factor under a shorter name."""
        return self.improvement_factor

    @property
    def in_doubt(self) -> bool:
        """Whether any speed-up is uncertain."""
        return bool((self.gains.deviation > _NOTHING).any())

    @property
    def low(self) -> Floats:
        return self.gains.interval()[0]

    @property
    def high(self) -> Floats:
        return self.gains.interval()[2]

    def point(self, gamma: int) -> CurvePoint:
        """Returns the curve's numbers at one γ, which must be 0 or one of the γ of the curve."""
        if gamma == 0:
            return CurvePoint()
        only = self.gamma == gamma
        low, _, high = self.gains.only(only).interval()
        columns = (self.expected_tokens, self.improvement_factor, self.operations_factor)
        numbers = [float(column[0]) for column in (*(c[only] for c in columns), low, high)]
        return CurvePoint._make([gamma, *numbers])


def curve_of(
    acceptance: Acceptance,
    cost: Cost,
    gammas: NDArray[np.int64],
    *,
    c_hat: float,
    doubt: Covariance | None = None,
) -> Curve:
    """Returns the curve of tokens per call and speed-ups at the given γ.

    gammas: at least 1 each, rising, shape (n,). c_hat, doubt: arguments of `plan`.
    """
    drafted = acceptance.drafted_per_token(gammas)
    logs, noise = _lengths(acceptance, cost, gammas)
    tokens = tokens_per_block(acceptance, cost, gammas)
    ran, impossible = np.full(len(gammas), np.nan), np.zeros(len(gammas), dtype=bool)
    posterior, point, columns = cost.posterior, cost.point, gammas.tolist()
    if posterior is None or point is None:
        factors = np.asarray(speed_up(acceptance, cost, gammas))
        gains = Forecast.normal(np.log(factors), noise if doubt is None else doubt(gammas))
    else:
        gains = posterior.speed_ups(point, columns, np.exp(logs).tolist())
        gains = gains.blurred(noise).capped(np.log(gammas + 1.0))  # A block gives at most γ + 1.
        factors = np.exp(gains.medians)
        ran = np.array([*map(posterior.measured(point).get, columns)], float)  # NaN for None
        impossible = np.isin(gammas, list(posterior.left_out(point)))
    limits = (acceptance.observed_gamma, cost.observed_gamma)
    observed = min((gamma for gamma in limits if gamma is not None), default=np.inf)
    return Curve(
        gamma=gammas,
        expected_tokens=tokens,
        improvement_factor=factors,
        operations_factor=drafted * (c_hat + 1) + 1 / tokens,
        extrapolated=gammas > observed,
        beyond_graphs=np.broadcast_to(cost.setting.beyond_graphs(gammas), gammas.shape),
        gains=gains,
        ran=ran,
        impossible=impossible,
        log_lengths=logs,
        baseline=cost.baseline_seconds,
    )


def counted_runs(acceptance: Acceptance, cost: Cost) -> list[Run]:
    """Returns the runs at the cost's load whose tokens are counts behind the acceptance."""
    if not cost.own_runs:
        return []
    from simulator.acceptance.counted import counts_run

    return [run for run in cost.own_runs if counts_run(acceptance, run)]


def tokens_per_block(acceptance: Acceptance, cost: Cost, gammas: Gammas) -> Floats:
    """Returns mean tokens per block; a run that the acceptance counts has its own, shape (n,)."""
    if counted_runs(acceptance, cost):
        return np.exp(_lengths(acceptance, cost, gammas)[0])
    return np.asarray(acceptance.tokens_per_call(gammas))


def _lengths(acceptance: Acceptance, cost: Cost, gammas: Gammas) -> tuple[Floats, Floats]:
    """Returns the log of mean tokens per block at each γ, and the covariance of their errors.

    The covariance leaves out errors that do not affect speeds. A run measures the time per token,
    and its block time is derived as this time times tokens per block. So an error in tokens per
    block cancels at the run's γ, which has the run's own length, and only its uncorrelated part
    remains at other γ. Runs whose drafts ended early do not measure the time at their γ.
    Sampled texts (`Run.length_error`) may be easy by chance, and make their γ look best. Such a run
    measures its block time, and has the tokens per block of all runs' rates, with their error.
    """
    whole = (run for run in cost.own_runs if run.drafted is None)
    timed = {run.gamma for run in whole if run.length_error == 0} - {0}
    if cost.posterior is not None and cost.point is not None:
        timed -= cost.posterior.left_out(cost.point)
    run = sorted(timed)
    every = np.array(sorted({*gammas.tolist(), *run}))
    logs, covariance = acceptance.log_lengths(every)
    counted = [run for run in counted_runs(acceptance, cost) if run.drafted is None]
    lengths = {run.gamma: np.log(run.length) for run in pooled(counted)}
    at = sorted(lengths.keys() & timed)
    apart = [lengths[gamma] - logs[every.tolist().index(gamma)] for gamma in at]
    logs = np.minimum(logs + np.interp(every, [0, *at], [0.0, *apart]), np.log(every + 1.0))
    if run:
        known = np.isin(every, run)
        shared = covariance[:, known]
        # Given the tokens of the runs, by the pseudo-inverse: some runs may be exact.
        covariance = covariance - shared @ np.linalg.pinv(shared[known]) @ shared.T
    wanted = np.isin(every, gammas)
    return logs[wanted], covariance[np.ix_(wanted, wanted)]


def token_seconds(
    acceptance: Acceptance, cost: Cost, gammas: NDArray[np.int64], doubt: Covariance | None = None
) -> Forecast:
    """Returns the distribution of the time between two tokens of one sequence, for each γ.

    It has the draws of the speed-ups: more tokens per block are a shorter time per token.
    doubt: argument of `plan`.
    """
    logs, noise = _lengths(acceptance, cost, gammas)
    if cost.posterior is None or cost.point is None:
        speeds = -np.log(acceptance.seconds_per_token(gammas, cost))
        return Forecast.normal(speeds, noise if doubt is None else doubt(gammas)).inverse
    law = cost.posterior.seconds_per_token(cost.point, gammas.tolist(), np.exp(logs).tolist())
    return law.inverse.blurred(noise).inverse


def baseline_seconds(cost: Cost) -> Forecast:
    """Returns the distribution of the time between two tokens without speculation, shape (1,)."""
    if cost.posterior is None or cost.point is None:
        return Forecast.exact(np.log([cost.baseline_seconds]))
    return cost.posterior.seconds_per_token(cost.point, [0], [1.0])
