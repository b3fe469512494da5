"""`specplan observe`: the acceptance of a running deployment, and the gamma it should use."""

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import click

from engines.observing.by_request import request_lengths
from engines.observing.drift import drift
from engines.observing.observation import Observation
from engines.observing.profiles import observed_profile, observed_run
from engines.sources import between, is_live, readings, total
from estimator.profiles.profile_file import write_profile
from estimator.progress import stage
from simulator.choice.plan import Plan
from simulator.cost.cost import ChangedCost
from simulator.cost.curves import CostModel
from simulator.cost.fitted.runs import Run
from simulator.cost.setting import DEFAULT_CONTEXT
from specplan.api.observing import ObservedPlan
from specplan.api.settings import COPIES, DRAFT_KINDS
from specplan.options.answer import answer, stated_command
from specplan.options.command import Command, fill, is_stated
from specplan.options.declared import takes
from specplan.options.inputs.profile import Profiled
from specplan.options.kinds import chosen_cost, cost_kinds
from specplan.options.plan_options import Followed, Observed, Sources, addresses
from specplan.reports import observation as reports
from specplan.reports.draft_labels import DraftLabels
from specplan.reports.drift import drift_json, drift_text
from specplan.reports.flags import flags_of_plans
from specplan.reports.kept import today_line
from specplan.reports.live import Live
from specplan.reports.observed_times import observed_plan_json, run_text, unknown_gamma
from specplan.reports.output import warn
from specplan.reports.plan import plan_text, warn_of_sizes
from specplan.reports.table import folded

FOLLOWED_SECONDS = 10.0
# Exit status if acceptance differs from --expect.
DRIFTED = 3
Readings = tuple[Observation, ...]


@click.command("observe", cls=Command)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, callback=addresses)
@takes(Followed, heading="Sources")
@takes(*cost_kinds(), heading="Cost")
@takes(Observed, heading="Answer")
@click.pass_context
def observe_command(ctx: click.Context, /, **_: object) -> None:
    """Report what a running deployment accepts, and the gamma it should run with.

    SOURCE is a server's URL (its metrics: vLLM, llama.cpp, SGLang, TensorRT-LLM), a saved metrics
    page, a log of vLLM, llama.cpp or SGLang, the result of `vllm bench serve --save-result`,
    SGLang's bench_serving, AIPerf or GuideLLM, or answers: llama.cpp's and MLX-VLM's with their
    timings, vLLM's with --per-request-spec-decode-metrics. Several of one kind are summed.

    With a cost, as `specplan plan` takes it, every gamma is planned; a larger gamma than observed
    is marked. Without a cost, gamma is planned from the time of a token, where a source has it, as
    from a --run of `specplan plan`.

    \b
    Examples:
      specplan observe http://localhost:8000 --interval 60
      specplan observe http://localhost:8000 --target-ms 19 --draft-ms 1.6
      specplan observe vllm.log --c 0.05 -o observed.json
      specplan observe vllm.log --c 0.05 --export vllm --draft-kind eagle3
      specplan observe http://localhost:8000 --interval 60 --expect length=2.85
      specplan plan --profile observed.json --c 0.05
    """
    reading, asking = _stated(ctx)
    if isinstance(reading, Followed):
        _follow(reading, asking)
        return
    observation = _observed(reading)
    run = _timed(observation) if asking.fitted else None
    row = _planned(ctx, asking, observation, run)
    requests, gamma = observation.requests, observation.gamma
    lengths = None if row is None else request_lengths(requests, row, gamma=gamma)
    data = reports.observation_json(observation, seconds=reading.interval, lengths=lengths)
    text = folded(reports.observation_text(observation, data, since=bool(reading.since)))
    if run is not None:
        text = f"{folded(today_line(run, asking.runs, stated=observation.stated_gamma))}\n{text}"
    if row is not None:
        warn_of_sizes((row,))
        data |= observed_plan_json(row, observation)
        said = map(folded, [data["sentence"], data["intervals"]])
        text += "\n\n" + "\n".join(filter(None, [plan_text(row), *said]))
        if lengths is not None:
            text += "\n\n" + reports.lengths_text(data["by_request"])
        if reading.server is not None:
            draft_kind = reading.draft_kind or ""
            drafter = DraftLabels(
                COPIES.get(draft_kind), DRAFT_KINDS.get(draft_kind), reading.draft
            )
            flags = flags_of_plans((row,), drafter, server=reading.server)
            data["export"] = reports.as_observed(flags, observation, server=reading.server)
    elif reading.output is None and run is None:
        text += "\n\nAdd --c C, or --target-ms MS --draft-ms MS, to plan every gamma with it."
    if run is not None:
        text += "\n" + folded(run_text(run, observation))
    if reading.output is not None:
        text += f"\n\n{_written(observation, reading, asking.completed(observation))}"
    moved = None if reading.expect is None else drift(observation, reading.expect)
    if moved is not None:
        best = None if row is None else row.advised_gamma
        data["drift"] = drift_json(moved, best_gamma=best)
        text = f"{folded(drift_text(moved, best_gamma=best))}\n{text}"
    _answer(data, text, reading, status=DRIFTED if moved is not None and moved.found else 0)


def _answer(data: dict[str, Any], text: str, reading: Observed, *, status: int) -> None:
    answer(lambda: data, lambda: data.get("export", text), form=reading)
    if status != 0:
        raise click.exceptions.Exit(status)


def _stated(ctx: click.Context) -> tuple[Followed | Observed, ObservedPlan]:
    """Returns the sources and the plan that the stated options make."""
    follows = ctx.params["follow"]
    records: list[type] = [Followed if follows else Observed, Profiled]
    # How drafts are chosen is noted in a profile, too, so that it states no cost by itself.
    names = {name for kind in cost_kinds() for name in kind.reads()} - {"draft_sampling"}
    if any(is_stated(ctx, name) for name in names):
        records.append(chosen_cost(ctx))
    elif follows:
        _require_planned(ctx, planned=False)
    reading, file, *costs = fill(ctx, records, way="--follow" if follows else "")
    stated_costs = costs[0].make() if costs else None
    asking = ObservedPlan(reading, file.profile, stated_costs)
    if all(run.counted for run in asking.runs):
        asking.cost()  # Refuses options before anything is read.
    return reading, asking


def _require_planned(ctx: click.Context, *, planned: bool) -> None:
    """Raises ValueError if --max-gamma or --export is given but nothing is planned."""
    for name in ("max_gamma", "server"):
        if not planned and is_stated(ctx, name):
            raise ValueError(f"`{name}` needs a cost, such as `c`: nothing is planned")


def _timed(observation: Observation) -> Run | None:
    """Returns an observation as a timed run; None if its time is unknown, or impossible (warns)."""
    try:
        return observed_run(observation, context=DEFAULT_CONTEXT)
    except ValueError as error:
        warn(f"nothing is planned: {error}")
        return None


def _planned(
    ctx: click.Context | None, asking: ObservedPlan, observation: Observation, run: Run | None
) -> Plan | None:
    """Returns the plan; None if no cost is known, or K is not: `unknown_gamma`.

    ctx: raises ValueError if one of its options needs a plan that is not made; None: it does not.
    """
    unknown = run is not None and unknown_gamma(run, observation)
    row = None if unknown else asking.plan(observation, run)
    for name in ("max_gamma", "server"):
        if ctx is not None and unknown and is_stated(ctx, name):
            raise ValueError(f"`{name}` needs `gamma`: the source does not state K")
    if ctx is not None and not unknown:
        _require_planned(ctx, planned=row is not None)
    return row


def _observed(reading: Observed) -> Observation:
    """Returns the counts within an interval or since an earlier reading; by default all counts."""
    if reading.interval is not None:
        observation = between(reading.sources, *next(_intervals(reading, reading.interval)))
    elif reading.since:
        observation = between(reading.sources, _read(reading, reading.since), _read(reading))
    else:
        observation = total(_read(reading))
    if observation.drafts == 0 or observation.drafted == 0:
        raise ValueError(
            "drafts must be at least 1, got 0: no request was decoded in that time, or speculation "
            "is off"
        )
    for contradiction in observation.contradictions:
        warn(contradiction)
    return observation


def _read(reading: Sources, sources: Sequence[str] = ()) -> Readings:
    """Returns the counts of each source; sources: default is the sources that `reading` names."""
    chosen = sources or reading.sources
    return readings(chosen, gamma=reading.gamma, timeout_seconds=reading.timeout)


def _intervals(reading: Sources, seconds: float) -> Iterator[tuple[Readings, Readings]]:
    """Yields each live server's counts before and after each interval, without end."""
    saved = [source for source in reading.sources if not is_live(source)]
    if saved:
        raise click.UsageError(f"--interval and --follow need a server's URL, got {saved[0]}")
    before = _read(reading)
    total(before)
    while True:
        with stage(f"counting for {seconds:g} s"):
            time.sleep(seconds)
        after = _read(reading)
        yield before, after
        before = after


def _follow(reading: Followed, asking: ObservedPlan) -> None:
    seconds = FOLLOWED_SECONDS if reading.interval is None else reading.interval
    live = Live(seconds)
    if reading.listen is not None:
        click.echo(f"Metrics: {live.listen(reading.listen)}", err=True)
    for before, after in _intervals(reading, seconds):
        clock = f"{datetime.now():%H:%M:%S}"
        try:
            observation = between(reading.sources, before, after)
        except ValueError as error:  # a server was restarted
            warn(str(error))
            continue
        if observation.drafts == 0 or observation.drafted == 0:
            live.add_none()
            click.echo(f"{clock}  no drafts")
            continue
        row = _planned(None, asking, observation, _timed(observation) if asking.fitted else None)
        data = live.add(observation, row, clock=clock)
        if reading.page is not None:
            live.write({**data, "command": stated_command()}, reading.page)
        advised = "" if row is None else f"  advised gamma {row.advised_gamma}"
        click.echo(reports.observation_line(observation, clock=clock) + advised)


def _written(observation: Observation, reading: Observed, asking: ObservedPlan) -> str:
    """Writes the observation as a profile; returns a sentence on how to plan with the profile."""
    assert reading.output is not None
    cost = None if asking.costs is None else asking.cost()
    cost = cost.inner if isinstance(cost, ChangedCost) and cost.same_times else cost
    profile = observed_profile(
        observation,
        draft_sampling=reading.draft_sampling or "argmax",
        cost=cost if isinstance(cost, CostModel) else None,
    )
    write_profile(profile, reading.output)
    needs = "" if cost is not None and cost.in_seconds else " --c C"
    return f"Wrote {reading.output}; plan with it: specplan plan --profile {reading.output}{needs}"
