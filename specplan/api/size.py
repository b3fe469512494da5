"""How many GPUs: the request of `specplan size`, and `specplan.size` from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from reference.files import text_lines
from simulator.numerics.arguments import integer
from simulator.traffic.day import Day, day
from simulator.traffic.demand import Demand, LatencyTargets
from simulator.traffic.fleet import Fleet, Goal, Replica
from simulator.traffic.pareto import Point, pareto_front
from simulator.traffic.sizing import Sizing, saved_gpus
from simulator.traffic.sizing import size as sized
from simulator.traffic.trace import Hour, hours_of, read_trace
from specplan.api.drafts import SizedDraft, named_apart
from specplan.api.shown import Shown
from specplan.api.sized_replicas import replica_at, replicas_of

if TYPE_CHECKING:
    from engines.kind import Drafted

__all__ = ["SizeResult", "size"]


class SizeOptions(TypedDict, total=False):
    """The load, the machines to choose from, and how each replica serves.

    rate: requests per second of all replicas.
    prompt_tokens, output_tokens: mean lengths; length_spread: their standard deviation / mean.
    trace: file of requests with times, in place of all four; replicas are then counted by hour.
    targets: latency targets in milliseconds, by name: ttft, tpot.
    share: share of requests that must meet the targets.
    gpus: names of GPUs. gpus_per_replica: numbers of GPUs of a replica.
    dp, ep: groups of a replica's GPUs that hold all layers but experts (each group shares them by
      tensor parallelism), and parts into which experts are divided, as in `specplan plan`. None: 1,
      and for mixtures of experts also one of each for every GPU.
    dtypes: number formats of the weights; None: each configuration's own.
    activations: format of activations; None: as in `specplan plan`.
    prices: money for a GPU and an hour, by name of the GPU; then the least money is searched.
    max_gpus: most GPUs of all replicas.
    engine: name of the server.
    slots, chunk_tokens, cached_share, max_gamma: as in `specplan traffic`.
    check: whether the answer is simulated with all replicas.
    """

    rate: float
    prompt_tokens: float
    output_tokens: float
    length_spread: float
    trace: Path | str | None
    targets: Mapping[str, float]
    share: float
    gpus: Sequence[str]
    gpus_per_replica: Sequence[int]
    dp: Sequence[int] | None
    ep: Sequence[int] | None
    dtypes: Sequence[str | None]
    activations: str | None
    prices: Mapping[str, float]
    max_gpus: int
    engine: str | None
    slots: int
    chunk_tokens: int
    cached_share: float
    max_gamma: int
    check: bool


# Settings that need not be given; None marks those that must be.
DEFAULTS: Mapping[str, Any] = {
    "rate": None, "prompt_tokens": None, "output_tokens": None, "length_spread": 0.0,
    "trace": None, "targets": None, "share": 0.95, "gpus": None, "gpus_per_replica": (1, 2, 4, 8),
    "dp": None, "ep": None,
    "dtypes": (None,), "activations": None, "prices": {}, "max_gpus": 64, "engine": None,
    "slots": 256, "chunk_tokens": 2048, "cached_share": 0.0, "max_gamma": 32, "check": True,
}  # fmt: skip
_TARGETS = frozenset({"ttft", "tpot"})
_LOAD = ("rate", "prompt_tokens", "output_tokens", "length_spread")
_OPTIONAL = ("activations", "engine", "dp", "ep", "trace")


@dataclass(frozen=True)
class SizeResult(Shown, Sizing):
    """The fewest GPUs, or the least money, that keep the targets.

    replicas: the deployments of one replica that were searched.
    drafted: drafts by name, as servers load them.
    notes: deployments that were left out, and the sampling for which acceptances hold.
    day, day_without: replicas of `best` and `best_without` by hour of a trace; None: no trace, or
      an hour that needs more GPUs than `max_gpus`.
    """

    replicas: tuple[Replica, ...] = field(default=(), repr=False)
    drafted: Mapping[str, Drafted] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    day: Day | None = None
    day_without: Day | None = None

    @cached_property
    def fronts(self) -> tuple[tuple[Point, ...], ...]:
        """Tokens/s of a GPU against tokens/s of a user, with and without speculation."""
        return tuple(pareto_front(self.replicas, speculating=way) for way in (True, False))

    def json(self) -> dict[str, Any]:
        """Returns the JSON object of `specplan size`."""
        from specplan.reports.day import day_json
        from specplan.reports.replica_flags import sized_for
        from specplan.reports.sizing_json import sizing_json

        flags = {} if self.best is None else {server: self.flags(server) for server in sized_for()}
        data = sizing_json(self, self.fronts, flags=flags, notes=self.notes)
        return data if self.day is None else {**data, "day": day_json(self.day, self.day_without)}

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Returns the candidates, the best first."""
        rows: Sequence[Mapping[str, Any]] = self.json()["candidates"]
        return rows

    def flags(self, server: str) -> str:
        """Returns the flags of each replica; server: vllm or sglang."""
        from engines.kind import Drafted
        from specplan.reports.replica_flags import replica_flags

        if self.best is None:
            raise ValueError("flags need a deployment that keeps the targets, got none")
        draft = self.drafted.get(self.best.replica.draft or "", Drafted("DRAFT"))
        return replica_flags(server, self.best, draft)

    def __str__(self) -> str:
        from specplan.reports.sizing import sizing_text

        return sizing_text(self.json())


def size(
    target_config: Path | str,
    drafts: SizedDraft | Sequence[SizedDraft],
    **options: Unpack[SizeOptions],
) -> SizeResult:
    """Returns the cheapest deployment that keeps latency targets: what `specplan size` computes.

    target_config: the target's config.json. drafts: one or several drafts.
    options: see `SizeOptions`; rate, prompt_tokens, output_tokens, targets and gpus are needed.

    Raises OSError, ValueError if a file or a number cannot be used, or no GPU holds the models.
    """
    given = _settings(options)
    every = named_apart((drafts,) if isinstance(drafts, SizedDraft) else tuple(drafts))
    if given["trace"] is None:
        spread = given["length_spread"]
        demand = Demand(given["prompt_tokens"], given["output_tokens"], spread, spread)
        return _sized(Path(target_config), every, demand, _goal(given, given["rate"]), given)
    trace = Path(given["trace"])
    hours = hours_of(read_trace(text_lines(trace), name=str(trace)))
    return _by_hour(Path(target_config), every, hours, given)


def _goal(given: Mapping[str, Any], rate: float) -> Goal:
    return Goal(rate, _targets(given["targets"]), given["share"], given["max_gpus"])


def _sized(
    target: Path, drafts: Sequence[SizedDraft], demand: Demand, goal: Goal, given: Mapping[str, Any]
) -> SizeResult:
    """Returns the cheapest deployment for one rate."""
    replicas, drafted, notes = replicas_of(target, drafts, demand, given)
    if not replicas:
        raise ValueError(notes[0])
    sizing = sized(replicas, goal, check=given["check"])
    values = {value.name: getattr(sizing, value.name) for value in fields(sizing)}
    holds = "The acceptance of {} holds for: {}."
    notes += [holds.format(draft.title, draft.acceptance.source.sampling) for draft in drafts]
    values |= {"replicas": tuple(replicas), "drafted": drafted, "notes": tuple(notes)}
    return SizeResult(**values)


def _by_hour(
    target: Path, drafts: Sequence[SizedDraft], hours: Sequence[Hour], given: Mapping[str, Any]
) -> SizeResult:
    """Returns the cheapest deployment for the hour that needs the most, and its replicas by hour.

    The hour with the most tokens a second is searched first, and then any hour in which that
    deployment needs more replicas.
    """

    def hourly(fleet: Fleet | None) -> Day | None:
        if fleet is None:
            return None

        def replica(hour: Hour) -> Replica:
            return replica_at(target, drafts, hour.demand, given, fleet)

        return day(hours, replica, fleet.gamma, lambda hour: _goal(given, hour.rate))

    def tokens(place: int) -> float:
        hour = hours[place]
        return 0.0 if hour.requests is None else hour.rate * hour.demand.whole

    place, searched = max(range(len(hours)), key=tokens), set[int]()
    while place not in searched:
        searched.add(place)
        goal = _goal(given, hours[place].rate)
        sizing = _sized(target, drafts, hours[place].demand, goal, given)
        by_hour = hourly(sizing.best)
        if by_hour is not None and by_hour.replicas[place] < by_hour.fixed:
            place = by_hour.busiest
    without = sizing.best_without
    plain = by_hour if without == sizing.best else hourly(without)
    if plain is not None and without is not None and plain.fixed > without.replicas:
        without = plain.fleets[plain.busiest]
    saved = None if sizing.best is None or without is None else saved_gpus(sizing.best, without)
    return replace(sizing, best_without=without, saved=saved, day=by_hour, day_without=plain)


def _settings(options: SizeOptions) -> dict[str, Any]:
    unknown = [name for name in options if name not in DEFAULTS]
    if unknown:
        raise TypeError(f"unexpected keyword {unknown[0]!r}: must be one of {', '.join(DEFAULTS)}")
    given = {**DEFAULTS, **options}
    if given["trace"] is not None:
        for name in _LOAD:
            if options.get(name) is not None:
                raise ValueError(f"`{name}` cannot be combined with `trace`")
            given[name] = 0.0
    for name, value in given.items():
        if value is None and name not in _OPTIONAL:
            raise ValueError(f"`{name}` must be given{', or `trace`' * (name in _LOAD)}")
    for setting in ("slots", "max_gamma"):
        integer(setting, given[setting], at_least=1)
    integer("chunk_tokens", given["chunk_tokens"], at_least=0)
    for setting in ("gpus_per_replica", "dp", "ep"):
        for number in given[setting] or ():
            integer(setting, number, at_least=1)
    return given


def _targets(milliseconds: Mapping[str, float]) -> LatencyTargets:
    for name, limit in milliseconds.items():
        if name not in _TARGETS or not 0 < limit < float("inf"):
            raise ValueError(
                f"targets must be ttft=MS, tpot=MS or both, above 0, got {name}={limit}"
            )
    first, token = (milliseconds.get(target) for target in ("ttft", "tpot"))
    return LatencyTargets(first and first / 1e3, token and token / 1e3)
