"""Builds the request of `specplan traffic` from its options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from specplan.door.traffic_pair import pair_of
from specplan.options.costs.measured_loads import MeasuredLoads
from specplan.options.costs.profile import OfProfile, Profiled
from specplan.options.costs.roofline import Roofline
from specplan.options.draft_kind import law_of
from specplan.options.graphs import Graphs, walled
from specplan.options.kinds import (
    AcceptanceKind,
    Background,
    CostKind,
    filled,
    prices,
)
from specplan.options.stopping import ranked
from specplan.options.traffic_options import Arrivals, Batching, Simulation, TrafficAnswer

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.acceptance.acceptance import Acceptance
    from simulator.acceptance.stopping.batch import RankedTexts
    from simulator.cost.pricing import Load, Pricing
    from simulator.traffic.answer import TrafficRequest
    from simulator.traffic.demand import Demand, Requests
    from simulator.traffic.simulation_result import LatencyTargets

# Batches at which steps are priced unless --batch is given; between them times are linear.
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_REQUESTS = 20_000
_GRAPHS = "No limit of captured graphs is assumed: name the server with --engine."
# Largest spread, as a share of the spread if each request had an α of 0 or 1.
_WIDEST = 0.9


@dataclass(frozen=True)
class TrafficArguments:
    """A request of `specplan traffic`, the form of its answer, and notes for its readers.

    load: the load of the first prices, which says where they come from; None: not known.
    """

    request: TrafficRequest
    answer: TrafficAnswer
    notes: tuple[str, ...]
    load: Load | None


def asked(ctx: click.Context) -> TrafficArguments:
    """Returns the request that the options state."""
    records = (Arrivals, Batching, Simulation, TrafficAnswer, Profiled, Graphs)
    return requested(*filled(ctx, *records))


def requested(
    accepted: AcceptanceKind,
    costs: CostKind,
    load: Arrivals,
    batching: Batching,
    simulation: Simulation,
    answer: TrafficAnswer,
    file: Profiled,
    graphs: Graphs,
) -> TrafficArguments:
    """Returns the request from filled records of options, for the command and for Python."""
    from reference.reading import text_lines
    from simulator.traffic.answer import TrafficRequest
    from simulator.traffic.demand import read_trace
    from simulator.traffic.doubt import doubt_of

    known = file.read()
    if batching.alpha_spread is None and known is not None:
        batching = replace(batching, alpha_spread=_spread(known))
    trace = None
    if load.trace is not None:
        trace = read_trace(text_lines(load.trace), name=str(load.trace))
    demand = _demand(load, trace)
    burst = None if load.burst is None else _burst(load, demand, trace)
    for name, stated_too in {
        "--rate": load.rate,
        "--slo": load.slo,
        "--simulate": simulation.simulate or None,
        "--requests": simulation.requests,
        "--figure": answer.figure,
    }.items():
        if burst is not None and stated_too is not None:
            raise click.UsageError(f"{name} cannot be combined with --burst")
    adaptive = getattr(accepted, "verification", None) == "adaptive"
    if adaptive and burst is None and not simulation.simulate:
        raise click.UsageError("--verification adaptive needs --simulate or --burst")
    background = Background(known, max_gamma=batching.max_gamma)
    costs, wall = walled(costs, graphs)
    priced = _priced(costs, background, demand, batching)
    stated = accepted.make(replace(background, draft_kind=law_of(None, priced)))
    if len(stated.acceptances) > 1:
        raise click.UsageError(f"traffic needs a single acceptance, got {len(stated.acceptances)}")
    accepted_here = stated.acceptances[0].at_context(round(demand.context))
    unknown = graphs == Graphs() and isinstance(costs, Roofline) and costs.engine_family is None
    pair = pair_of(priced, accepted_here, demand, batching, wall)
    if adaptive:
        walls = [replace(price, wall=wall) for price in priced]
        texts = ranked(file.profile_path, known, stated)
        pair = replace(pair, ranked=_by_rank(walls, accepted_here, texts, batching))
    return TrafficArguments(
        TrafficRequest(
            pair,
            () if burst is not None else load.rate or (trace.rate if trace else 0.0,),
            doubt_of(priced, accepted_here, pair.drafting),
            _targets(load.slo),
            None if burst is not None else _arrivals(simulation, demand, trace),
            0 if simulation.seed is None else simulation.seed,
            burst,
        ),
        answer,
        (*stated.notes, *([_GRAPHS] if unknown else [])),
        priced[0].load,
    )


def _by_rank(
    priced: Sequence[Pricing], accepted: Acceptance, texts: RankedTexts, batching: Batching
) -> dict[int, tuple[float, float]]:
    """Returns the steps of recorded texts that are verified by rank."""
    from estimator.profiles.adaptive import ranked_steps
    from simulator.choice.plan import plan

    plans = [plan(accepted, each, max_gamma=batching.max_gamma) for each in priced]
    return ranked_steps(plans, texts)


def _demand(load: Arrivals, trace: Requests | None) -> Demand:
    from simulator.traffic.demand import Demand

    means = {"--prompt-tokens": load.prompt_tokens, "--output-tokens": load.output_tokens}
    if trace is not None:
        given = [name for name, value in means.items() if value is not None]
        if given:
            raise click.UsageError(f"{given[0]} cannot be combined with --trace")
        return trace.demand
    needed = {"--rate": load.rate or load.burst, **means}
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise click.UsageError(f"give {', '.join(missing)}, or --trace")
    assert load.prompt_tokens is not None
    assert load.output_tokens is not None
    return Demand(load.prompt_tokens, load.output_tokens)


def _burst(load: Arrivals, demand: Demand, trace: Requests | None) -> Requests:
    """Returns requests that arrive together, of mean lengths or from the start of a trace."""
    import numpy as np

    from simulator.numerics.arguments import integer
    from simulator.traffic.demand import Requests

    assert load.burst is not None
    count = integer("burst", load.burst, at_least=1)
    if trace is None:
        lengths = (round(demand.prompt_tokens), round(demand.output_tokens))
        return Requests(np.zeros(count), *(np.full(count, each) for each in lengths))
    if count > len(trace.seconds):
        raise ValueError(f"burst must be at most the trace's {len(trace.seconds)}, got {count}")
    return Requests(np.zeros(count), trace.prompt_tokens[:count], trace.output_tokens[:count])


def _targets(slo: dict[str, float] | None) -> LatencyTargets | None:
    from simulator.traffic.simulation_result import LatencyTargets

    if slo is None:
        return None
    first, token = (slo.get(name) for name in ("ttft", "tpot"))
    return LatencyTargets(
        None if first is None else first / 1e3, None if token is None else token / 1e3
    )


def _arrivals(
    simulation: Simulation, demand: Demand, trace: Requests | None
) -> Callable[[float], Requests] | None:
    """Returns a function that maps a rate to requests: the trace's, or Poisson arrivals."""
    if not simulation.simulate:
        for name, value in (("--requests", simulation.requests), ("--seed", simulation.seed)):
            if value is not None:
                raise click.UsageError(f"{name} needs --simulate")
        return None
    if trace is not None:
        if simulation.requests is not None:
            raise click.UsageError("--requests cannot be combined with --trace")
        return trace.at
    count = _REQUESTS if simulation.requests is None else simulation.requests
    seed = 0 if simulation.seed is None else simulation.seed
    return lambda rate: demand.arrivals(rate, count, seed=seed)


def _priced(
    stated: CostKind, background: Background, demand: Demand, batching: Batching
) -> tuple[Pricing, ...]:
    """Returns the costs of steps by ascending batch, at the requests' context."""
    known = background.profile
    if isinstance(stated, OfProfile) and known is not None and known.load:
        stated = MeasuredLoads(batch=tuple(sorted({each.batch for each in known.load})))
    if isinstance(stated, Roofline):
        if stated.gpu is not None and "," in stated.gpu:
            raise click.UsageError(f"traffic takes one --gpu, got {stated.gpu}")
        within = [batch for batch in _BATCHES if batch < batching.slots]
        stated = replace(
            stated,
            batch=(*within, batching.slots) if stated.batch is None else stated.batch,
            context=(round(demand.context),) if stated.context is None else stated.context,
        )
    found = sorted(prices(stated, background), key=lambda price: price.batch)
    contexts = {None if price.load is None else price.load.context for price in found}
    if len(contexts) > 1 or len({price.batch for price in found}) < len(found):
        raise click.UsageError("traffic needs a single cost and context")
    return tuple(found)


def _spread(known: Profile) -> float:
    """Returns the standard deviation of a profile's α between prompts, by the jackknife.

    The α of one prompt is n α - (n - 1) times the α of the others (pseudo-values, Tukey 1958).
    """
    from math import sqrt
    from statistics import stdev

    if known.alpha.spread is not None:
        return known.alpha.spread
    if known.left_out is None or len(known.left_out.alpha) < 2:
        return 0.0
    count, alpha = len(known.left_out.alpha), known.alpha.value
    own = [count * alpha - (count - 1) * others for others in known.left_out.alpha]
    return min(stdev(own), _WIDEST * sqrt(alpha * (1 - alpha)))
