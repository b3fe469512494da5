"""The speed-up of each γ from acceptance and cost, the best γ, and break-even points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance
from simulator.acceptance.tokens import alpha_from_block_efficiency
from simulator.choice.walltime import TIE
from simulator.cost.cost import Cost
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


def break_even_alpha(cost: Cost, *, max_gamma: int) -> float:
    """Returns the i.i.d. acceptance rate in [0, 1] above which some γ up to max_gamma gains.

    A block gains if it emits more tokens (E[τ]) than the baseline does in the same time. E[τ] rises
    with α from 1 to γ + 1. Under Theorem 8 the result is c (Leviathan et al. 2023, Corollary 9).
    0: every α above 0 gains. 1: a perfect draft only breaks even. NaN: even a perfect draft loses.
    """
    gamma = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
    needed = np.maximum(cost.block_seconds(gamma) / cost.baseline_seconds, 1.0)
    possible = needed <= gamma + 1
    if not possible.any():
        return float("nan")
    return float(alpha_from_block_efficiency(needed[possible], gamma[possible]).min())


def break_even_c(acceptance: Acceptance, cost: Cost, *, max_gamma: int) -> float:
    """Returns the smallest c at which no γ up to max_gamma gains over no speculation.

    Each draft step is assumed to take c target steps; the other times of `cost` are unchanged. 0: a
    draft that costs nothing only breaks even. NaN: even such a draft loses, or no token is drafted.
    """
    gamma = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)

    step = cost.c * cost.step_seconds
    others = acceptance.per_token(lambda n: np.asarray(cost.block_seconds(n) - n * step), gamma)
    spare, drafted = cost.baseline_seconds - others, acceptance.drafted_per_token(gamma)
    if not drafted.any():
        return float("nan")
    c = float((spare[drafted > 0] / drafted[drafted > 0]).max()) / cost.step_seconds
    return c if c >= 0 else float("nan")


# From γ, shape (n,), to a covariance of the logarithms of speed-ups, shape (n, n).
Doubt = Callable[[NDArray[np.int64]], Floats]
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
    low, high: ends of each speed-up's 90 % interval.
    """

    gamma: NDArray[np.int64]
    expected_tokens: Floats
    improvement_factor: Floats
    operations_factor: Floats
    extrapolated: NDArray[np.bool_]
    beyond_graphs: NDArray[np.bool_]
    gains: Forecast

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
        numbers = [float(each[0]) for each in (*(c[only] for c in columns), low, high)]
        return CurvePoint._make([gamma, *numbers])


def curve_of(
    acceptance: Acceptance,
    cost: Cost,
    gammas: NDArray[np.int64],
    *,
    c_hat: float,
    doubt: Doubt | None = None,
) -> Curve:
    """Returns the curve of tokens per call and speed-ups at the given γ.

    gammas: at least 1 each, rising, shape (n,). c_hat, doubt: arguments of `plan`.
    """
    drafted = acceptance.drafted_per_token(gammas)
    logs, noise = _lengths(acceptance, cost, gammas)
    tokens = np.asarray(acceptance.tokens_per_call(gammas))
    if cost.posterior is None or cost.point is None:
        factors = np.asarray(speed_up(acceptance, cost, gammas))
        gains = Forecast(np.log(factors), noise if doubt is None else doubt(gammas))
    else:
        lengths = np.exp(logs).tolist()
        gains = cost.posterior.speed_ups(cost.point, gammas.tolist(), lengths).blurred(noise)
        factors = gains.quantile(0.5)
    known = (acceptance.observed_gamma, cost.observed_gamma)
    observed = min((each for each in known if each is not None), default=np.inf)
    return Curve(
        gamma=gammas,
        expected_tokens=tokens,
        improvement_factor=factors,
        operations_factor=drafted * (c_hat + 1) + 1 / tokens,
        extrapolated=gammas > observed,
        beyond_graphs=np.broadcast_to(cost.setting.beyond_graphs(gammas), gammas.shape),
        gains=gains,
    )


def _lengths(
    acceptance: Acceptance, cost: Cost, gammas: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Returns the log of mean tokens per block at each γ, and the covariance of their errors.

    The covariance leaves out errors that do not affect speeds. A run measures the time per token,
    and its block time is derived as this time times tokens per block. So an error in tokens per
    block cancels at the run's γ, and only its uncorrelated part remains at other γ. Runs whose
    drafts ended early do not count, because they do not measure the time at their γ.
    """
    run = sorted({each.gamma for each in cost.own_runs if each.drafted is None} - {0})
    every = np.array(sorted({*gammas.tolist(), *run}))
    logs, covariance = acceptance.log_lengths(every)
    if run:
        known = np.isin(every, run)
        shared = covariance[:, known]
        # Given the tokens of the runs, by the pseudo-inverse: some runs may be exact.
        covariance = covariance - shared @ np.linalg.pinv(shared[known]) @ shared.T
    wanted = np.isin(every, gammas)
    return logs[wanted], covariance[np.ix_(wanted, wanted)]


def token_seconds(acceptance: Acceptance, cost: Cost, gammas: NDArray[np.int64]) -> Forecast:
    """Returns the distribution of the time between two tokens of one sequence, for each γ."""
    logs, noise = _lengths(acceptance, cost, gammas)
    if cost.posterior is None or cost.point is None:
        return Forecast(np.log(acceptance.seconds_per_token(gammas, cost)), noise)
    law = cost.posterior.seconds_per_token(cost.point, gammas.tolist(), np.exp(logs).tolist())
    return law.blurred(noise)


def baseline_seconds(cost: Cost) -> Forecast:
    """Returns the distribution of the time between two tokens without speculation, shape (1,)."""
    if cost.posterior is None or cost.point is None:
        return Forecast.exact(np.log([cost.baseline_seconds]))
    return cost.posterior.seconds_per_token(cost.point, [0], [1.0])
