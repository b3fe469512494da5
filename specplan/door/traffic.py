"""Servers under load: the request of `specplan traffic`, and `specplan.traffic` from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

import click

from simulator.traffic.answer import Traffic, TrafficRequest, answer
from specplan.door.inputs import both, usage_as_value_error
from specplan.door.plan_request import NO_LIMITS, profiled, ranked
from specplan.door.prices import law_of, walled
from specplan.door.traffic_pair import pair_of, priced_loads, spread_of
from specplan.options.inputs.roofline import Roofline
from specplan.options.plan_options import Arrivals, Batching, Simulation, latency_targets

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.cost.setting import Load
    from simulator.traffic.demand import Demand, Requests
    from specplan.options.inputs.times import OfRuns
    from specplan.options.kinds import AcceptanceKind, CostKind
    from specplan.options.plan_options import Graphs

__all__ = ["traffic"]
_REQUESTS = 20_000
_GRAPHS = "No limit of captured graphs is assumed: name the server with --engine."


def requested(
    accepted: AcceptanceKind,
    costs: CostKind,
    load: Arrivals,
    batching: Batching,
    simulation: Simulation,
    graphs: Graphs = NO_LIMITS,
) -> tuple[TrafficRequest, tuple[str, ...], Load | None]:
    """Returns the request, notes for the user, and the load at the smallest batch, if known."""
    from reference.files import text_lines
    from simulator.traffic.demand import LatencyTargets, read_trace
    from simulator.traffic.server import doubt_of

    file = profiled(accepted, costs)
    if batching.alpha_spread is None and file.profile is not None:
        batching = replace(batching, alpha_spread=spread_of(file.profile))
    trace = None
    if load.trace is not None:
        trace = read_trace(text_lines(load.trace), name=str(load.trace))
    demand = _demand(load, trace)
    burst = None if load.burst is None else _burst(load.burst, demand, trace)
    for name, stated in {
        "--rate": load.rate,
        "--slo": load.slo,
        "--simulate": simulation.simulate or None,
        "--requests": simulation.requests,
        "--figure": simulation.figure,
    }.items():
        if burst is not None and stated is not None:
            raise click.UsageError(f"{name} cannot be combined with --burst")
    adaptive = getattr(accepted, "verification", None) == "adaptive"
    if adaptive and burst is None and not simulation.simulate:
        raise click.UsageError("--verification adaptive needs --simulate or --burst")
    unknown = graphs == NO_LIMITS and isinstance(costs, Roofline) and costs.engine_family is None
    costs, wall = walled(costs, graphs)
    priced = priced_loads(costs, file.profile, demand, batching)
    acceptances, origin = accepted.make(law_of(None, priced), None)
    if len(acceptances) > 1:
        raise click.UsageError(f"traffic needs a single acceptance, got {len(acceptances)}")
    acceptance = acceptances[0].at_context(round(demand.context))
    pair = pair_of(priced, acceptance, demand, batching, wall)
    if adaptive:
        from estimator.profiles.adaptive import ranked_steps
        from simulator.choice.plan import plan

        walls = [cost.with_setting(wall=wall) for cost in priced]
        texts = ranked(file, origin)
        rows = [plan(acceptance, each, max_gamma=batching.max_gamma) for each in walls]
        pair = replace(pair, ranked=ranked_steps(rows, texts))
    targets = None
    if load.slo is not None:
        goals = (load.slo.get(name) for name in ("ttft", "tpot"))
        targets = LatencyTargets(*(None if ms is None else ms / 1e3 for ms in goals))
    request = TrafficRequest(
        pair,
        () if burst is not None else load.rate or (trace.rate if trace else 0.0,),
        doubt_of(priced, acceptance, pair.drafting),
        targets,
        None if burst is not None else _arrivals(simulation, demand, trace),
        0 if simulation.seed is None else simulation.seed,
        burst,
    )
    return request, (*origin.notes, *([_GRAPHS] if unknown else [])), priced[0].setting.load


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
    return Demand(*(value or 0.0 for value in means.values()))


def _burst(most: int, demand: Demand, trace: Requests | None) -> Requests:
    """Returns `most` simultaneous requests: the first of the trace, or requests of mean length."""
    import numpy as np

    from simulator.numerics.arguments import integer
    from simulator.traffic.demand import Requests

    count = integer("burst", most, at_least=1)
    if trace is None:
        lengths = (round(demand.prompt_tokens), round(demand.output_tokens))
        return Requests(np.zeros(count), *(np.full(count, each) for each in lengths))
    if count > len(trace.seconds):
        raise ValueError(f"burst must be at most the trace's {len(trace.seconds)}, got {count}")
    return Requests(np.zeros(count), trace.prompt_tokens[:count], trace.output_tokens[:count])


def _arrivals(
    simulation: Simulation, demand: Demand, trace: Requests | None
) -> Callable[[float], Requests] | None:
    """Returns a function from rate (1/s) to arriving requests; None: arrivals are not simulated."""
    if not simulation.simulate:
        for name in ("requests", "seed"):
            if getattr(simulation, name) is not None:
                raise click.UsageError(f"--{name} needs --simulate")
        return None
    if trace is not None:
        if simulation.requests is not None:
            raise click.UsageError("--requests cannot be combined with --trace")
        return trace.at
    count = _REQUESTS if simulation.requests is None else simulation.requests
    seed = 0 if simulation.seed is None else simulation.seed
    return lambda rate: demand.arrivals(rate, count, seed=seed)


@dataclass(frozen=True)
class TrafficResult(Traffic):
    """A server's steady states and capacities. It prints as the text of `specplan traffic`."""

    text: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.text


def traffic(
    acceptance: AcceptanceKind | OfRuns | Profile,
    cost: CostKind | Profile | None = None,
    *,
    rate: float | Sequence[float],
    prompt_tokens: float,
    output_tokens: float,
    prompt_ms: float | None = None,
    targets: Mapping[str, float] | None = None,
    simulate: bool = False,
) -> TrafficResult:
    """Returns the effect of speculation on a server under load: what `specplan traffic` computes.

    acceptance, cost: see `plan`.
    rate: requests per second, one number or several.
    prompt_tokens, output_tokens: mean number of tokens in a request's prompt and output.
    prompt_ms: milliseconds to read one prompt; None: estimated with the cost's roofline.
    targets: latency targets in milliseconds, by name: ttft, tpot.
    simulate: whether arrivals are simulated, too.

    Raises OSError, ValueError if a file or a number cannot be used.
    """
    from specplan.reports.traffic import traffic_json, traffic_text

    with usage_as_value_error():
        slo = targets and ",".join(f"{name}={ms}" for name, ms in targets.items())
        request, notes, _ = requested(
            *both(acceptance, cost),
            Arrivals(
                rate=(rate,) if isinstance(rate, int | float) else tuple(rate),
                prompt_tokens=prompt_tokens,
                output_tokens=output_tokens,
                slo=latency_targets(None, None, slo) if slo else None,
            ),
            Batching(prompt_ms=prompt_ms),
            Simulation(simulate=simulate),
        )
        found = answer(request)
    numbers = {each.name: getattr(found, each.name) for each in fields(found)}
    text = traffic_text(request, found, traffic_json(request, found), notes)
    return TrafficResult(**numbers, text=text)
