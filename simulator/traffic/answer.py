"""The answer of `specplan traffic`: steady states with intervals, and simulations by policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.choice.schedule import Range, schedule
from simulator.numerics.arguments import Floats
from simulator.numerics.intervals import ENDS
from simulator.traffic.demand import LatencyTargets, Requests
from simulator.traffic.one_setting import RateChoices, rate_choices
from simulator.traffic.pair import Pair
from simulator.traffic.policy import (
    Simulated,
    max_rate_by_batch,
    one_gamma,
    scheduled,
    simulations,
)
from simulator.traffic.rate_ranges import rate_ranges
from simulator.traffic.row import Interval, TrafficRow, loses
from simulator.traffic.server import Doubt
from simulator.traffic.steady import Steady, steady, trusted

# Share of requests within the targets, where none is stated.
SHARE = 0.95


@dataclass(frozen=True, slots=True)
class TrafficRequest:
    """A server, its load, and the requested computations.

    rates: requests per second, of all replicas.
    replicas: number of servers that share the requests in turn.
    share: share of requests that must meet the targets at the largest rate.
    doubt: random draws of costs and acceptance; None if both are exact.
    arrivals: maps a rate to the requests to simulate; None: no simulation.
    burst: requests that arrive together, instead of arrivals at `rates`; None: no burst.
    """

    pair: Pair
    rates: tuple[float, ...]
    doubt: Doubt | None = None
    targets: LatencyTargets | None = None
    arrivals: Callable[[float], Requests] | None = None
    seed: int = 0
    burst: Requests | None = None
    replicas: int = 1
    share: float = SHARE

    @property
    def drawn(self) -> Pair | None:
        """The servers with random draws of their times as first axis; None if all is certain."""
        return None if self.doubt is None else self.pair.drawn(self.doubt)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Steady states, capacities and simulations of a server.

    rows: two for each rate, without and with speculation.
    max_rate, max_rate_without: capacities in requests per second, with and without speculation.
    break_even: rate above which speculation slows requests down; 0 if always, None if never.
    within_targets: largest rates that meet targets, with and without speculation; None: no target.
    at_share: largest rates at which a share of the requests meets them, in the same order.
    schedule: advised γ by batch size.
    choices: γ by rate, and for all rates.
    simulated: simulation results per policy, for each rate that the server sustains.
    draws: number of posterior draws behind the intervals. If the inputs are exact, it is 0 and all
      intervals are None.
    uncalibrated: whether predicted probabilities of a gain do not match observed frequencies.
    """

    rows: tuple[TrafficRow, ...]
    max_rate: float
    max_rate_without: float
    break_even: float | None
    within_targets: tuple[float, float] | None
    schedule: tuple[Range, ...]
    choices: RateChoices
    at_share: tuple[float, float] | None = None
    simulated: tuple[Simulated, ...] = ()
    draws: int = 0
    max_rate_interval: Interval | None = None
    max_rate_without_interval: Interval | None = None
    break_even_interval: Interval | None = None
    uncalibrated: bool = False

    @property
    def undecided(self) -> bool:
        """Whether a measurement must decide: gains of this kind of draft are predicted badly.

        If speculation loses at every rate, it must decide whether to speculate at lower ones.
        """
        named = [row for row in self.rows if row.advice is not None]
        few = [row for row in named if not row.loses]
        return any(row.undecided for row in few) or (not few and bool(named) and self.uncalibrated)

    @property
    def to_run(self) -> tuple[int, ...]:
        """Each γ of a rate at which it most probably gains; of all rates, if none gains."""
        named = [row for row in self.rows if row.advice is not None and row.gamma > 0]
        gains = [row for row in named if row.stable and row.advice is not None and row.advice.best]
        return tuple(dict.fromkeys(row.gamma for row in gains or named))


def require_rates(rates: Sequence[float]) -> None:
    """Raises ValueError unless all rates are above 0."""
    if not min(rates) > 0:
        raise ValueError(f"rate must be above 0 requests a second, got {min(rates):g}")


def answer(request: TrafficRequest) -> Traffic:
    """Returns the steady states at each rate, and the rates that the servers sustain.

    Raises ValueError if a rate is not above 0, or even an idle server misses the targets.
    """
    pair, targets, replicas = request.pair, request.targets, request.replicas
    require_rates(request.rates)
    rates = [rate / replicas for rate in request.rates]
    most, without = float(pair.max_rate), float(pair.max_rate_without)
    crossing, drawn = float(pair.break_even()), request.drawn
    advised = pair.advice(rates, drawn)
    gammas, demand = scheduled(pair, drawn), pair.demand
    states = {}
    if drawn is not None:
        used = {0, *(advice.named for advice in advised)}
        states = {gamma: drawn.under(gamma, rates) for gamma in used}
    rows, simulated = list[TrafficRow](), []
    for place, (rate, advice) in enumerate(zip(rates, advised, strict=True)):
        for gamma in (0, advice.named):
            state, doubtful = pair.under(gamma, rate), states.get(gamma)
            row = TrafficRow(
                request.rates[place],
                gamma,
                state,
                replicas * min(rate, float(state.max_rate)) * demand.output_tokens,
                on_target=None if targets is None else bool(state.within(targets)[0]),
                advice=advice if gamma > 0 else None,
                replicas=replicas,
                by_batch=_by_batch(pair, gammas, gamma, rate),
                trusted=trusted(pair.server(gamma), pair.demand, gamma),
            )
            if gamma > 0:
                plain = rows[-1].on_target
                lost = loses(advice, stable=row.stable, met=row.on_target, met_without=plain)
                row = replace(row, loses=lost)
            if doubtful is not None:
                risk = float((~doubtful.stable[:, place]).mean())
                interval = _interval(doubtful.token_seconds[:, place])
                row = replace(row, token_seconds=interval, overload_risk=risk)
            rows.append(row)
        if request.arrivals is not None:
            arrived, seed = request.arrivals(rate), request.seed
            simulated += simulations(
                pair, arrived, gammas, rate=rate, gamma=advice.named, seed=seed
            )
    slots = pair.drafting.max_batch(demand)
    of_rates = dict(zip(rates, advised, strict=True))
    ranges = rate_ranges(pair, drawn, targets, of_rates, crossing)
    choices = rate_choices(pair, ranges, rates, targets)
    exact = Traffic(
        rows=tuple(rows),
        max_rate=replicas * most,
        max_rate_without=replicas * without,
        break_even=None if np.isinf(crossing) else replicas * crossing,
        within_targets=None if targets is None else _all(pair.rates_within(targets), replicas),
        at_share=None if targets is None else _all(pair.rates_at(targets, request.share), replicas),
        schedule=schedule(dict(enumerate(gammas[:slots, 0].tolist(), start=1))),
        choices=choices.times(replicas),
        simulated=tuple(replace(run, rate=replicas * run.rate) for run in simulated),
        uncalibrated=not pair.calibrated,
    )
    if drawn is None:
        return exact
    # Which γ has the largest capacity, or is best, hardly depends on the draw. But a γ that was run
    # at every batch can be kept where the best, which was not, is worse than expected.
    ran = set(pair.gammas).intersection(*pair.measured.values()) if pair.measured else set()
    near = min(crossing, 0.999 * most) or 1e-3 * most
    best = pair.gammas[int(pair.max_rates().argmax())], pair.choices(near, drawn)[0].named
    largest, crossed = (replace(drawn, gammas=tuple(sorted({one} | ran))) for one in best)
    return replace(
        exact,
        draws=len(drawn.drafting.seconds),
        max_rate_interval=_interval(replicas * largest.max_rate),
        max_rate_without_interval=_interval(replicas * drawn.max_rate_without),
        break_even_interval=_interval(replicas * crossed.break_even()),
    )


def _by_batch(pair: Pair, gammas: NDArray[np.int64], gamma: int, rate: float) -> Steady | None:
    """Returns the state with γ by batch size; gamma: the best fixed one, 0: no speculation."""
    if gamma == 0 or (gammas == gamma).all():
        return pair.under(gamma, rate) if gamma > 0 else None
    state = steady(one_gamma(pair, gammas, gamma), pair.demand, gamma, rate)
    return replace(state, max_rate=max_rate_by_batch(pair, gammas))


def _all(rates: tuple[float, float], replicas: int) -> tuple[float, float]:
    """Multiplies the rates of one server by the number of replicas."""
    speculating, without = rates
    return replicas * speculating, replicas * without


def _interval(values: Floats) -> Interval | None:
    if np.isnan(values).any():
        return None
    low, high = np.quantile(values, ENDS, method="nearest").tolist()
    return low, high
