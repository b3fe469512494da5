"""A server with and without speculation at any rate, and the rate at which they break even."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.choice.advice import NEAR, Advice, advise
from simulator.cost.setting import Wall
from simulator.numerics.arguments import Floats
from simulator.numerics.intervals import Forecast, with_medians
from simulator.traffic.crossing import first_crossing
from simulator.traffic.demand import Demand, LatencyTargets
from simulator.traffic.limit import closed_limit, largest_by_means, missed_targets
from simulator.traffic.population import max_rate
from simulator.traffic.server import Doubt, Server
from simulator.traffic.steady import Steady, steady

# Seconds of a request times its capacity where the server is overloaded, and the largest gain.
_NEVER, _CLEAR = 1e9, 3.0
# A γ that was not run is named although it may overload the server, up to this probability.
_UNLIKELY = 0.05


@dataclass(frozen=True, slots=True)
class Pair:
    """One server, with speculation (`drafting`) and without (`baseline`).

    gammas: draft lengths to consider, each at least 1, ascending.
    measured: each γ with a possible run, for each batch that was run, ascending.
    calibrated: whether predicted probabilities of a gain match observed frequencies.
    wall: the largest step that the server runs as a captured graph, at least one sequence at every
      γ. None: no limit is known.
    ranked: `steps` of `policy.by_rank`, where a batch verifies only its likeliest drafted tokens;
      None: not simulated.
    """

    drafting: Server
    baseline: Server
    demand: Demand
    gammas: tuple[int, ...]
    measured: Mapping[int, Collection[int]] = field(default_factory=dict)
    calibrated: bool = True
    wall: Wall | None = None
    ranked: Mapping[int, tuple[float, float]] | None = None

    def server(self, gamma: int) -> Server:
        """Returns the server that drafts γ tokens; 0: without speculation.

        It decodes no more sequences together than captured graphs hold, because the time of a
        larger step is not known. If the baseline's largest step also exceeds the graphs, there is
        no limit: steps without graphs are then compared with each other.
        """
        whole = self.baseline if gamma == 0 else self.drafting
        if self.wall is None or self.eager:
            return whole
        return whole.limited(self.wall.most_batch(gamma))

    @property
    def eager(self) -> bool:
        """Whether the baseline's largest step is beyond the captured graphs."""
        return self.wall is not None and self.wall.beyond(self.baseline.max_batch(self.demand), 0)

    def drawn(self, doubt: Doubt) -> Pair:
        """Returns the pair at each draw of its uncertain values."""
        drafting, baseline = map(doubt.of, (self.drafting, self.baseline))
        return replace(self, drafting=drafting, baseline=baseline, measured={})

    def under(self, gamma: int | Sequence[int], rate: ArrayLike) -> Steady:
        """Returns the steady states at one γ, or at several as a first axis; 0: no speculation."""
        if isinstance(gamma, int):
            return steady(self.server(gamma), self.demand, gamma, rate)
        return Steady.stacked([self.under(length, rate) for length in gamma])

    def advice(self, rate: ArrayLike, drawn: Pair | None = None) -> list[Advice]:
        """Returns the γ at each rate that minimises the time to a request's last token.

        drawn: draws of the pair; None if nothing is uncertain.
        """
        return self._advice(rate, drawn, drawn)

    def choices(self, rate: ArrayLike, drawn: Pair | None) -> list[Advice]:
        """Returns `advice`, without probabilities of a gain where no γ depends on them."""
        return self._advice(rate, drawn, self.deciding(drawn))

    def deciding(self, drawn: Pair | None) -> Pair | None:
        """Returns draws if they may decide for a run γ, or for runs; None: medians decide."""
        return drawn if any(self.measured.values()) or not self.calibrated else None

    def _advice(self, rate: ArrayLike, overloaded: Pair | None, drawn: Pair | None) -> list[Advice]:
        rates = np.atleast_1d(rate)
        without, state = self.under(0, rates), self.under(self.gammas, rates)
        slots = np.where(without.stable, np.maximum(without.batch, 1), self.baseline.slots)
        most = np.array([[self.server(gamma).slots] for gamma in self.gammas])
        gains = self.captured(self._gains(rates), np.where(state.stable, state.batch, most))
        overload = None if overloaded is None else overloaded._overload(rates)
        slots = slots.round().astype(np.int64)
        return self.advised(slots, gains, drawn, lambda pair: pair._gains(rates), overload)

    def advised(
        self,
        slots: NDArray[np.int64],
        gains: Floats,
        drawn: Pair | None,
        gains_of: Callable[[Pair], Floats],
        overload: Floats | None = None,
    ) -> list[Advice]:
        """Returns the advice of `simulator.choice.advice.advise` for each of several loads.

        Only the γ that are advised or measured under some load are drawn: the medians rank them.

        slots: sequences decoded together under each load, to select measured gains, shape (loads,).
        gains: logarithms of speed-ups, shape (γ, loads).
        drawn: draws of the pair; None if nothing is uncertain.
        gains_of: returns the logarithms of a drawn pair's speed-ups, shape (γ, draws, loads).
        overload: probability that only the server that drafts is overloaded, shape of `gains`;
          None: it never is.
        """
        known = [self._measured_at(slot) for slot in slots.tolist()]
        safe = np.ones(gains.shape, dtype=bool)
        if overload is not None:
            every, loads = np.array(self.gammas), zip(overload.T, known, strict=True)
            safe = np.stack([_safe(every, *load) for load in loads], axis=1)
        likely = np.where(safe, gains, -np.inf)
        near = likely >= likely.max(axis=0) + np.log1p(-NEAR)
        used = {*near.argmax(axis=0).tolist(), *likely.argmax(axis=0).tolist()}
        used |= {place for place, gamma in enumerate(self.gammas) if gamma in set().union(*known)}
        places = sorted(used)
        few = replace(self, gammas=tuple(self.gammas[place] for place in places))
        gains, safe, lengths = gains[places], safe[places], np.array(few.gammas)
        laws = [Forecast.exact(gain) for gain in gains.T]
        if drawn is not None:
            # The draws give the spread of speed-ups; their medians are moved to the plans' numbers.
            spread = gains_of(replace(drawn, gammas=few.gammas))
            moved = with_medians(spread, gains[:, None], axis=1)
            laws = [Forecast.drawn(gain.T) for gain in np.moveaxis(moved, -1, 0)]
        # A run is proposed for a load that a server can be held at, which a rate is not.
        return [
            advise(lengths[may], law.only(may), worth=None, calibrated=self.calibrated, tried=tried)
            for law, tried, may in zip(laws, known, safe.T, strict=True)
        ]

    def _overload(self, rates: Floats) -> Floats:
        """Returns the share of draws in which only the server that drafts is overloaded.

        Shape (γ, rates).
        """
        without = max_rate(self.server(0), self.demand, 0)[..., None]
        only = (rates >= self.max_rates()[..., None]) & (rates < without)
        return np.asarray(only.mean(axis=1))

    def _measured_at(self, slot: int) -> Collection[int]:
        """Returns the γ that were run at a batch, 0 too; between two batches, those run at both."""
        if not self.measured:
            return ()
        low = max((batch for batch in self.measured if batch <= slot), default=min(self.measured))
        high = min((batch for batch in self.measured if batch >= slot), default=max(self.measured))
        return {0, *self.measured[low]} & {0, *self.measured[high]}

    def captured(self, gains: Floats, batch: ArrayLike) -> Floats:
        """Returns log gains, shape (γ, n), with a large loss where γ exceeds the graphs."""
        if self.wall is None:
            return gains
        slots, beyond = np.atleast_2d(batch), self.wall.beyond
        crossed = beyond(slots, np.array(self.gammas)[:, None]) > beyond(slots.min(axis=0), 0)
        return np.where(crossed, -_CLEAR, gains)

    def _gains(self, rate: Floats) -> Floats:
        """Returns log speed-ups of requests, shape (γ, …, rates).

        If neither server sustains the rate, the one with the higher capacity counts as faster.
        """

        def seconds(state: Steady) -> Floats:
            never = _NEVER / state.max_rate[..., None]
            return np.where(state.stable, state.request_seconds(self.demand), never)

        plain = seconds(self.under(0, rate))
        gains = [np.log(plain / seconds(self.under(gamma, rate))) for gamma in self.gammas]
        return np.clip(gains, -_CLEAR, _CLEAR)

    @property
    def max_rate(self) -> Floats:
        """Capacity with speculation in requests per second, at the γ with the largest capacity."""
        return np.asarray(self.max_rates().max(axis=0))[()]

    def max_rates(self) -> Floats:
        """Returns the capacity at each γ, shape (γ, …)."""
        return np.stack([max_rate(self.server(gamma), self.demand, gamma) for gamma in self.gammas])

    @property
    def max_rate_without(self) -> Floats:
        """Capacity without speculation in requests per second."""
        return max_rate(self.baseline, self.demand, 0)

    def break_even(self) -> Floats:
        """Returns the rate above which requests take longer with speculation than without.

        0 if they take longer at any rate, infinite if they never do.
        """
        most, without = self.max_rate, self.max_rate_without
        crossing = first_crossing(self._losses, np.minimum(most, without))
        never = np.where(most < without, most, np.inf)
        return np.where(np.isnan(crossing), never, crossing)[()]

    @property
    def against_zero(self) -> Pair | None:
        """This server with its own K = 0 as baseline; None if that is not known to cost more."""
        costly = (self.drafting.seconds != self.baseline.seconds)[..., 0].any()
        return replace(self, baseline=self.drafting) if costly else None

    def _losses(self, rates: Floats) -> Floats:
        """Returns log(request time with the best γ / without a draft) at each rate."""
        ways = self.under(self.gammas, rates).request_seconds(self.demand).min(axis=0)
        return np.asarray(np.log(ways / self.under(0, rates).request_seconds(self.demand)))

    def rates_within(self, targets: LatencyTargets) -> tuple[float, float]:
        """Returns the largest rates at which mean times meet targets, with and without speculation.

        Raises ValueError if even an idle server misses the targets.
        """
        idle = 1e-6 * float(min(self.max_rate, self.max_rate_without))
        ways = (partial(self.under, self.gammas), partial(self.under, [0]))
        drafting, without = (largest_by_means(way, targets, idle) for way in ways)
        if max(drafting, without) == 0:
            raise ValueError(missed_targets(targets, [way(idle) for way in ways]))
        return drafting, without

    def rates_at(self, targets: LatencyTargets, share: float) -> tuple[float, float]:
        """Returns up to which rates a share of requests meets targets, with and without drafts."""
        limit = partial(closed_limit, demand=self.demand, targets=targets, share=share)
        rates = [limit(self.server(gamma), gamma=gamma) for gamma in (*self.gammas, 0)]
        return max(rates[:-1]), rates[-1]


def _safe(
    gammas: NDArray[np.int64], overloaded: Floats, known: Collection[int]
) -> NDArray[np.bool_]:
    """Returns which γ may be named: not one that was not run and is the likelier to overload.

    overloaded: the probability that each γ overloads the server, shape (γ,). known: γ with a run.
    """
    ran = np.isin(gammas, list(known))
    least = overloaded[ran].min(initial=1.0)
    return np.asarray(ran | (overloaded <= max(least, _UNLIKELY)), dtype=np.bool_)
