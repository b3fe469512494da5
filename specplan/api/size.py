"""How many GPUs: the request of `specplan size`, and `specplan.size` from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from reference.files import text_lines
from simulator.traffic.day import Day, day
from simulator.traffic.demand import Demand
from simulator.traffic.fleet import Fleet, Goal, Replica
from simulator.traffic.pareto import Point, pareto_front
from simulator.traffic.saved import saved_gpus
from simulator.traffic.sizing import Sizing
from simulator.traffic.sizing import size as sized
from simulator.traffic.trace import Hour, hours_of, read_trace
from specplan.api.drafts import SizedDraft, named_apart
from specplan.api.shown import Shown
from specplan.api.size_settings import SizeSettings
from specplan.api.sized_replicas import replica_at, replicas_of
from specplan.api.traffic_command import traffic_command

if TYPE_CHECKING:
    from engines.kind import Drafted

__all__ = ["SizeResult", "size"]


@dataclass(frozen=True)
class SizeResult(Shown, Sizing):
    """The fewest GPUs, or the least money, that keep the targets.

    replicas: the deployments of one replica that were searched.
    drafted: drafts by name, as servers load them.
    notes: deployments that were left out, and the sampling for which acceptances hold.
    traffic_command: `specplan traffic` for `best`; "": no option states the acceptance.
    day, day_without: replicas of `best` and `best_without` by hour of a trace; None: no trace, or
      an hour that needs more GPUs than `max_gpus`.
    """

    replicas: tuple[Replica, ...] = field(default=(), repr=False)
    drafted: Mapping[str, Drafted] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    traffic_command: str = ""
    day: Day | None = None
    day_without: Day | None = None

    @cached_property
    def fronts(self) -> tuple[tuple[Point, ...], ...]:
        """Tokens/s of a GPU against tokens/s of a user, with and without speculation."""
        return tuple(pareto_front(self.replicas, speculating=way) for way in (True, False))

    def json(self) -> dict[str, Any]:
        """Returns the JSON object of `specplan size`."""
        return dict(self._json)

    @cached_property
    def _json(self) -> dict[str, Any]:
        from specplan.reports.day import day_json
        from specplan.reports.replica_flags import sized_for
        from specplan.reports.sizing_json import sizing_json

        flags = {} if self.best is None else {server: self.flags(server) for server in sized_for()}
        data = sizing_json(
            self, self.fronts, flags=flags, notes=self.notes, command=self.traffic_command
        )
        return data if self.day is None else {**data, "day": day_json(self.day, self.day_without)}

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Returns the candidates, the best first."""
        rows: Sequence[Mapping[str, Any]] = self.json()["candidates"]
        return rows

    def flags(self, server: str) -> str:
        """Returns the flags of each replica; server: vllm or sglang."""
        from engines.kind import Drafted
        from specplan.reports.draft_labels import UNNAMED
        from specplan.reports.replica_flags import replica_flags
        from specplan.reports.sizing_words import sentence

        if self.best is None:
            raise ValueError("flags need a deployment that keeps the targets, got none")
        draft = self.drafted.get(self.best.replica.draft or "", Drafted(UNNAMED))
        draft = draft if "/" in draft.name else replace(draft, name=UNNAMED)  # its label is no path
        answer = "\n".join(f"# {line}" for line in wrap(sentence(self), 96))
        flags = replica_flags(server, self.best, draft)
        return f"{answer}\n# Each replica:\n{flags}"

    def __repr__(self) -> str:
        from specplan.reports.sizing_words import sentence

        return f"<size: {sentence(self)}>"

    def __str__(self) -> str:
        from specplan.reports.sizing import sizing_text

        return sizing_text(self.json())


def size(
    target_config: Path | str, drafts: SizedDraft | Sequence[SizedDraft], settings: SizeSettings
) -> SizeResult:
    """Returns the cheapest deployment that keeps latency targets: what `specplan size` computes.

    target_config: the target's config.json. drafts: one or several drafts.

    Raises OSError, ValueError if a file or a number cannot be used, or no GPU holds the models.
    """
    several = (drafts,) if isinstance(drafts, SizedDraft) else tuple(drafts)
    return answered(Path(target_config), several, settings)


def answered(target_config: Path, drafts: Sequence[SizedDraft], given: SizeSettings) -> SizeResult:
    """Returns the answer to a question: see `size`."""
    every = named_apart(drafts)
    if given.trace is None:
        spreads = 2 * [given.length_spread]
        demand = Demand(given.prompt_tokens or 0, given.output_tokens or 0, *spreads)
        return _sized(target_config, every, demand, given.goal(given.rate or 0), given)
    trace = Path(given.trace)
    hours = hours_of(read_trace(text_lines(trace), name=str(trace)))
    return _by_hour(target_config, every, hours, given)


def _sized(
    target: Path, drafts: Sequence[SizedDraft], demand: Demand, goal: Goal, given: SizeSettings
) -> SizeResult:
    """Returns the cheapest deployment for one rate."""
    replicas, drafted, notes = replicas_of(target, drafts, demand, given)
    if not replicas:
        raise ValueError(notes[0])
    sizing = sized(replicas, goal, check=given.check)
    values = {value.name: getattr(sizing, value.name) for value in fields(sizing)}
    holds = "The acceptance of {} holds for: {}."
    notes += [holds.format(draft.title, draft.acceptance.source.sampling) for draft in drafts]
    values |= {"replicas": tuple(replicas), "drafted": drafted, "notes": tuple(notes)}
    command = "" if sizing.best is None else traffic_command(sizing.best, target, drafts, given)
    return SizeResult(**values, traffic_command=command)


def _by_hour(
    target: Path, drafts: Sequence[SizedDraft], hours: Sequence[Hour], given: SizeSettings
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

        return day(
            hours, replica, fleet.gamma, lambda hour: given.goal(hour.rate), scale=fleet.scale
        )

    def tokens(place: int) -> float:
        hour = hours[place]
        return 0.0 if hour.requests is None else hour.rate * hour.demand.whole

    place, searched = max(range(len(hours)), key=tokens), set[int]()
    while place not in searched:
        searched.add(place)
        goal = given.goal(hours[place].rate)
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
