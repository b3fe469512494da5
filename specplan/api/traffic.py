"""Servers under load: the request of `specplan traffic`, and `specplan.traffic` from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reference.files import text_lines
from simulator.choice.curve import counted_runs
from simulator.cost.fitted.contradictions import contradictions, other_lengths
from simulator.numerics.arguments import integer
from simulator.traffic.answer import Traffic, TrafficRequest, answer, require_rates
from simulator.traffic.demand import Demand, LatencyTargets, Requests
from simulator.traffic.server import doubt_of
from simulator.traffic.trace import read_trace
from specplan.api.completed_costs import draft_class_of, walled
from specplan.api.inputs import Accepting, Costing, both
from specplan.api.recorded import Recorded
from specplan.api.request import NO_LIMITS, Question
from specplan.api.settings import Arrivals, Batching, Simulation
from specplan.api.shown import Shown
from specplan.api.stopping import ranked
from specplan.api.traffic_pair import PROMPT_TIME, costs_under_load, pair_of, spread_of

if TYPE_CHECKING:
    from simulator.cost.setting import Load

__all__ = ["traffic"]
_REQUESTS = 20_000
_GRAPHS = "No limit of captured graphs is assumed: name the server with --engine."


def requested(
    question: Question, load: Arrivals, batching: Batching, simulation: Simulation
) -> tuple[TrafficRequest, tuple[str, ...], Load | None, str]:
    """Returns the request, notes for the user, the load at the smallest batch, and the basis.

    The load is None if it is not known; the basis is the evidence in words.
    """
    from specplan.reports.basis import basis_text

    if load.rates:
        require_rates(load.rates)  # before costs are computed
    accepted, costs = question.acceptance, question.costs
    profile = question.profile
    if batching.alpha_spread is None and profile is not None:
        batching = replace(batching, alpha_spread=spread_of(profile))
    trace = None
    if load.trace is not None:
        trace = read_trace(text_lines(load.trace), name=str(load.trace))
    timed = batching.prompt_ms is not None or costs.modelled
    demand = replace(_demand(load, trace, timed), replicas=load.replicas)
    if trace is not None and simulation.simulate and load.replicas > 1:
        raise ValueError("`replicas` cannot be combined with `trace` and `simulate`")
    burst = None if load.burst is None else _burst(load.burst, demand, trace)
    excluded = {
        "rate": load.rate,
        "targets": load.targets,
        "simulate": simulation.simulate or None,
        "requests": simulation.requests,
        "replicas": load.replicas if load.replicas > 1 else None,
    }
    for name, value in excluded.items():
        if burst is not None and value is not None:
            raise ValueError(f"`{name}` cannot be combined with `burst`")
    adaptive = isinstance(accepted, Recorded) and accepted.adaptive
    if adaptive and burst is None and not simulation.simulate:
        raise ValueError("`verification` adaptive needs `simulate` or `burst`")
    unknown = question.graphs == NO_LIMITS and costs.modelled and costs.server is None
    costs, wall = walled(costs, question.graphs)
    priced = costs_under_load(costs, demand, batching, None if profile is None else profile.c_hat)
    if isinstance(accepted, Recorded):
        accepted = (accepted.acceptance(draft_class_of(None, priced)),)
    if len(accepted) > 1:
        raise ValueError(f"traffic needs a single acceptance, got {len(accepted)}")
    whole = accepted[0].for_draft(draft_class_of(None, priced))
    acceptance = whole.at_context(round(demand.context))
    pair = pair_of(priced, acceptance, demand, batching, wall)
    if adaptive:
        from estimator.profiles.adaptive import ranked_steps
        from simulator.choice.plan import plan

        texts = ranked(question.recorded, whole.source.draft_sampling)
        most = batching.max_gamma
        rows = [plan(acceptance, cost.with_setting(wall=wall), max_gamma=most) for cost in priced]
        pair = replace(pair, ranked=ranked_steps(rows, texts))
    targets = None if load.targets is None else LatencyTargets.of_ms(load.targets)
    request = TrafficRequest(
        pair,
        () if burst is not None else tuple(load.rates) or (trace.rate if trace else 0.0,),
        doubt_of(priced, acceptance, pair.drafting, question.doubt(whole)),
        targets,
        None if burst is not None else _arrivals(simulation, demand, trace),
        0 if simulation.seed is None else simulation.seed,
        burst,
        load.replicas,
    )
    runs = costs.runs
    others = [
        run for cost in priced for run in cost.own_runs if run not in counted_runs(whole, cost)
    ]
    conflicts = (*contradictions(runs), *other_lengths(others, whole.tokens_per_call))
    notes = (*whole.source.notes, *conflicts, *([_GRAPHS] if unknown else []))
    return request, notes, priced[0].setting.load, basis_text(whole, priced)


def _demand(load: Arrivals, trace: Requests | None, timed: bool) -> Demand:
    """Returns the requests' means; timed: whether the time of a prompt is known, for the error."""
    means = {"prompt_tokens": load.prompt_tokens, "output_tokens": load.output_tokens}
    if trace is not None:
        given = [name for name, value in means.items() if value is not None]
        if given:
            raise ValueError(f"`{given[0]}` cannot be combined with `trace`")
        return trace.demand
    needed = {"rate": load.rates or load.burst, **means}
    missing = [f"`{name}`" for name, value in needed.items() if value is None]
    if missing:
        prompts = "" if timed else f"; and {PROMPT_TIME}"
        raise ValueError(f"give {', '.join(missing)}, or `trace`{prompts}")
    return Demand(*(value or 0.0 for value in means.values()))


def _burst(most: int, demand: Demand, trace: Requests | None) -> Requests:
    """Returns `most` simultaneous requests: the first of the trace, or requests of mean length."""
    count = integer("burst", most, at_least=1)
    if trace is None:
        lengths = (round(demand.prompt_tokens), round(demand.output_tokens))
        return Requests(np.zeros(count), *(np.full(count, length) for length in lengths))
    if count > len(trace.seconds):
        raise ValueError(f"burst must be at most the trace's {len(trace.seconds)}, got {count}")
    return Requests(np.zeros(count), trace.prompt_tokens[:count], trace.output_tokens[:count])


def _arrivals(
    simulation: Simulation, demand: Demand, trace: Requests | None
) -> Callable[[float], Requests] | None:
    """Returns a function from rate (1/s) to arriving requests; None: arrivals are not simulated."""
    if not simulation.simulate:
        for name, value in (("requests", simulation.requests), ("seed", simulation.seed)):
            if value is not None:
                raise ValueError(f"`{name}` needs `simulate`")
        return None
    if trace is not None:
        if simulation.requests is not None:
            raise ValueError("`requests` cannot be combined with `trace`")
        return trace.at
    count = _REQUESTS if simulation.requests is None else simulation.requests
    seed = 0 if simulation.seed is None else simulation.seed
    return lambda rate: demand.arrivals(rate, count, seed=seed)


@dataclass(frozen=True)
class TrafficResult(Shown, Traffic):
    """A server's steady states and capacities. It prints as the text of `specplan traffic`."""

    request: TrafficRequest = field(kw_only=True, repr=False)
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def json(self) -> Mapping[str, Any]:
        """Returns the JSON object of `specplan traffic`."""
        return self.data

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Returns a row for each rate, with speculation and without."""
        rows: Sequence[Mapping[str, Any]] = self.data["rows"]
        return rows

    def __str__(self) -> str:
        from specplan.reports.traffic import traffic_text

        return traffic_text(self, self.data)


def traffic(
    acceptance: Accepting,
    cost: Costing = None,
    *,
    arrivals: Arrivals,
    batching: Batching = Batching(),  # noqa: B008 - it is frozen
    simulation: Simulation = Simulation(),  # noqa: B008
) -> TrafficResult:
    """Returns the effect of speculation on a server under load: what `specplan traffic` computes.

    acceptance, cost: see `plan`.

    Raises OSError, ValueError if a file or a number cannot be used.
    """
    if arrivals.burst is not None:
        raise ValueError("burst is what the command `specplan traffic` takes; give a rate")
    return answered(Question(*both(acceptance, cost)), arrivals, batching, simulation)


def answered(
    question: Question, load: Arrivals, batching: Batching, simulation: Simulation
) -> TrafficResult:
    """Returns the answer to a question under a load."""
    from specplan.reports.deployment import cost_json, cost_notes
    from specplan.reports.traffic import fine_print, traffic_json

    request, notes, priced, basis = requested(question, load, batching, simulation)
    served = answer(request)
    numbers = {part.name: getattr(served, part.name) for part in fields(served)}
    data = {**traffic_json(request, served), "basis": basis, "cost": cost_json(priced)}
    if load.targets is not None:
        data["slo"] = {f"{name}_ms": limit for name, limit in load.targets.items()}
    data["notes"] = [*fine_print(request, served, data), *cost_notes([priced]), *notes]
    return TrafficResult(**numbers, request=request, data=data)
